// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <freehca/recorder/recorder.hpp>

#include "commands.hpp"
#include "outcome.hpp"
#include "print.hpp"
#include "record_steps.hpp"
#include "tool_host.hpp"
#include "verdict.hpp"

namespace freehca::hcactl {
namespace {

using vfio_host::failure;
using vfio_host::trouble;

/// The tool's host, with the recorder between it and the driver.
class recording_host final : public blocking::host {
 public:
  recording_host(tool_host& of, recorder::recording_options how)
      : inner(of), listening(inner.platform(), std::move(how)) {}
  freehca::platform platform() override { return listening.platform(); }
  void wait(std::uint64_t deadline) override { inner.wait(deadline); }
  bool interrupted() const override { return inner.interrupted(); }
  int descriptor() override { return inner.descriptor(); }
  void wake() noexcept override { inner.wake(); }
  bool gone() const override { return inner.gone(); }

  tool_host& inner;
  recorder::recorder listening;
};

void say_what_comes(const common_options& options, const record_options& what) {
  if (options.json) return;
  fmt::print(
      "record     resets {} and brings it up, moves {} messages of each size in loopback by RC and "
      "UD, takes it down,\n"
      "           and writes to {} what driver and adapter said meanwhile; payload is left out, "
      "{}\n",
      options.address, what.messages, what.file,
      what.keep_identity ? "GUIDs, MAC addresses and descriptions STAY IN"
                         : "GUIDs and MAC addresses are replaced");
  std::fflush(stdout);
}

/// Runs the session. Returns the failure, or nothing on success.
std::optional<failure> run(recording_host& host, const common_options& options,
                           const record_options& what, unsigned& port) {
  loopback_traffic::traffic_memory memory;
  blocking::session driver(host, usual_size());
  const auto judge = [&](status outcome, const char* doing) {
    return verdict(host.inner, driver, outcome, doing, options.address);
  };
  host.listening.step("opening");
  if (const status opened = driver.open(); !opened.ok()) return judge(opened, "opening");
  const recorded_session went =
      run_recorded(driver, memory, what.port, what.messages, host.listening);
  port = went.port;
  if (!went.outcome.ok()) return judge(went.outcome, went.doing.c_str());
  if (!went.wrong.empty()) return failure{trouble::wrong_data, went.wrong};
  if (what.port != 0 && port == 0)
    return failure{trouble::port_down,
                   fmt::format("port {} of {} is not active: the recording has no traffic",
                               what.port, options.address)};
  return std::nullopt;
}

}  // namespace

int record(const common_options& options, const record_options& what, char**) {
  const auto opened = open_adapter(
      options, device::dma_bytes(usual_size().budget) + 2 * loopback_traffic::traffic_bytes());
  if (!opened) return report(opened.error(), options.json);
  // Open the file before the first access to the card, so that a wrong name has no effect on it.
  std::ofstream file(what.file, std::ios::binary | std::ios::trunc);
  if (!file) return report(cannot_write(what.file), options.json);
  say_what_comes(options, what);
  recording_host host(**opened, {.label = what.label, .keep_identity = what.keep_identity});
  unsigned port = 0;
  std::optional<failure> why = run(host, options, what, port);
  // A failed run is written too: its recording is the most useful.
  file << host.listening.text();
  file.close();
  if (!file) why = run_and_file(std::move(why), cannot_write(what.file));
  const nlohmann::json document = {{"address", options.address},
                                   {"file", what.file},
                                   {"records", host.listening.records()},
                                   {"traffic_port", port},
                                   {"identity_kept", what.keep_identity}};
  if (why) return report(*why, options.json, document);
  if (options.json) fmt::print("{}\n", document.dump(2));
  else
    fmt::print("recorded   {} records in {}; {}; compare: ./dev replay {}\n",
               host.listening.records(), what.file,
               port == 0 ? "no port is active, so without traffic"
                         : fmt::format("traffic by port {}", port),
               what.file);
  return 0;
}

}  // namespace freehca::hcactl
