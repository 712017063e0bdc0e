// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The program of `./dev demo --in-process`: the driver brings up the modelled adapter in its own
// process and moves verified data. It needs no hardware, no QEMU and no privileges.
#include <chrono>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/description/adapter.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/loopback_traffic/report.hpp>
#include <freehca/texts/names.hpp>

#include <in_process_host.hpp>

namespace {

using namespace freehca;
using blocking::words;

bool compare(const char* name, std::uint64_t driver, std::uint64_t model) {
  fmt::print("           {}: driver {}, model {}{}\n", name, driver, model,
             driver == model ? "" : "  DIFFER");
  return driver == model;
}

int run(unsigned messages) {
  const auto began = std::chrono::steady_clock::now();
  blocking::in_process_host host;
  loopback_traffic::traffic_memory memory;
  blocking::session s(host, {.budget = {}, .objects = every_kind()});
  const device& hca = s.adapter().hardware();
  status outcome = s.open();
  if (outcome.ok()) outcome = s.wait(s.adapter().bring_up());
  if (!outcome.ok()) {
    fmt::print(stderr, "bring-up failed at {}: {}\n", name_of(hca.failure().step),
               words(hca.failure().cause));
    static_cast<void>(s.tear_down());
    return EXIT_FAILURE;
  }
  fmt::print("{}", description::to_text(hca));
  const auto r = loopback_traffic::run_traffic(s, memory, {.port = 1, .messages = messages});
  fmt::print("{}commands   {} issued by now\n", loopback_traffic::to_text(r),
             hca.info().commands_issued);
  bool good = r.ok();
  const auto counter = [&](const char* name) { return host.machine.counter(name); };
  const auto agree = [&](const char* name, std::uint64_t driver) {
    return compare(name, driver, counter(name));
  };
  fmt::print("counts\n");
  good &= agree("rc_send_packets", r.expected.sends);
  good &= agree("rc_write_packets", r.expected.writes);
  good &= agree("rc_read_requests", r.expected.read_requests);
  good &= agree("rc_read_responses", r.expected.read_responses);
  good &= agree("commands", hca.info().commands_issued);
  outcome = s.tear_down();
  const device_holdings left = hca.holdings();
  good &= outcome.ok() && left.none() && counter("complaints") == 0;
  fmt::print(
      "teardown   {}; left: {} pages, {} mappings, {} object numbers\n           complaints of the "
      "model: {}\n",
      outcome.ok() ? "clean" : words(outcome), left.pages, left.mappings, left.numbers,
      counter("complaints"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{} in {:.1f} s ({:.3f} s of the adapter's time)\n", good ? "all well" : "FAILED",
             took.count(), static_cast<double>(host.machine.time()) / 1e9);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("freehca: driver and modelled adapter in one process");
  app.set_version_flag("--version", "freehca_demo_in_process " FREEHCA_VERSION);
  unsigned messages = 300;
  app.add_option("--messages", messages, "messages of each kind and size")
      ->check(CLI::Range(1u, 100000u));
  CLI11_PARSE(app, argc, argv);
  return run(messages);
}
