// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What hcactl does with --vfio-user: the same work over an adapter that freehca-device serves. It
// is a program of its own, since its driver is that of the routed flavour.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/vfio_user_host/remote_device.hpp>

#include "interruption.hpp"
#include "print.hpp"
#include "usage.hpp"
#include "verdict.hpp"
#include "work.hpp"

namespace freehca::hcactl {
namespace {

/// An adapter behind a socket, whose driver a signal interrupts.
class remote_host final : public blocking::host {
 public:
  explicit remote_host(std::unique_ptr<vfio_user_host::remote_device> device)
      : device_(std::move(device)) {}
  freehca::platform platform() override { return device_->platform(); }
  void wait(std::uint64_t deadline) override { device_->wait(deadline); }
  int descriptor() override { return device_->descriptor(); }
  void wake() noexcept override { device_->wake(); }
  bool lost() const override { return device_->lost(); }
  bool interrupted() const override { return interruption_.requested(); }
  const std::string& last_refusal() const { return device_->last_refusal(); }

 private:
  interruption interruption_;
  std::unique_ptr<vfio_user_host::remote_device> device_;
};

int with_session(const std::string& socket, bool json, bool take_over, const work& doing) {
  std::string why;
  auto device = vfio_user_host::remote_device::open(socket, why);
  if (device == nullptr) return report({vfio_host::trouble::absent, why}, json);
  remote_host host(std::move(device));
  loopback_traffic::traffic_memory memory;
  const easy::sizes size = usual_size();
  blocking::session s(host, size);
  workplace at{.driver = s,
               .memory = memory,
               .address = socket,
               .json = json,
               .wanted_back = [] { return false; },
               .verdict = {}};
  at.verdict = [&](status outcome, const char* task) {
    return verdict({.outcome = outcome,
                    .failed = s.adapter().hardware().failure(),
                    .interrupted = host.interrupted(),
                    .refusal = host.last_refusal(),
                    .memory_bytes = device::storage_bytes(size.budget) +
                                    verbs::storage_bytes(size.budget, size.objects),
                    .command_interface = s.adapter().hardware().info().command_interface},
                   task, socket);
  };
  return run(at, take_over, doing);
}

}  // namespace
}  // namespace freehca::hcactl

int main(int argc, char** argv) {
  using namespace freehca::hcactl;
  CLI::App app(
      "hcactl --vfio-user SOCKET: the adapter that freehca-device serves there, driven from this "
      "process: no guest, no rights of root");
  app.require_subcommand(1);
  std::string socket;
  bool json = false;
  app.add_option("--vfio-user", socket, "the server's socket")->required();
  app.add_flag("--json", json, "machine-readable output");
  app.fallthrough();
  const CLI::App* info_command = app.add_subcommand("info", "what it is and can do");
  CLI::App* up_command =
      app.add_subcommand("up", "bring it up, report what it is, take everything back");
  CLI::App* ping_command =
      app.add_subcommand("ping", "bring it up and move verified data in loopback on a port");
  const CLI::App* reset_command =
      app.add_subcommand("reset", "reset it, and free it from an owner that died");
  up_options held;
  up_command->add_flag("--tables", held.tables, "reads the GID and P_Key tables of its ports");
  up_command->add_flag("--hold", held.hold, "stays up until SIGINT or SIGTERM");
  ping_options traffic{.messages = 20};
  ping_command->add_option("--port", traffic.port, "port of the adapter")
      ->check(CLI::Range(1u, 2u));
  ping_command->add_option("--messages", traffic.messages, "messages of each kind and size")
      ->check(CLI::Range(1u, 1000000u));
  explain_wrong_usage(app);
  CLI11_PARSE(app, argc, argv);

  if (*reset_command) return with_session(socket, json, true, reset_adapter);
  return with_session(socket, json, false, with_adapter([&](workplace& at) {
                        if (*info_command) return report_adapter(at);
                        return *up_command ? stay_up(at, held) : move_data(at, traffic);
                      }));
}
