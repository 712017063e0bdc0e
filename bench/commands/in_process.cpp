// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What many commands in flight bring: RC queue pairs from nothing to RTS, on the adapter's virtual
// clock, with firmware that takes one command at a time and firmware that takes sixteen, and works
// on them side by side or one after the other.
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <freehca/blocking/words.hpp>

#include "connecting.hpp"
#include "rig.hpp"

namespace {

using namespace freehca;
using bench::connecting_options;
using bench::connecting_result;

struct adapter_options {
  std::uint64_t latency_ns = 50'000;  // of a command
  std::uint64_t post_ns = 1'000;      // of the processor, to hand a command to the adapter
  unsigned log_max_commands = 0;      // what the firmware takes at a time
  bool side_by_side = true;           // false: it works on one after the other
};

connecting_result connect_on(const adapter_options& made, const connecting_options& how) {
  in_process::machine_options m;
  m.model.log_max_commands = made.log_max_commands;
  m.model.faults.command_latency_ns = made.latency_ns;
  m.model.faults.commands_side_by_side = made.side_by_side;
  m.post_ns = made.post_ns;
  bench::rig rig(m, how.queue_pairs);
  connecting_result r;
  r.outcome = rig.open();
  if (r.outcome.ok())
    r = connect_queue_pairs({.adapter = rig.adapter,
                             .objects = rig.objects,
                             .domain = rig.domain,
                             .completions = rig.completions,
                             .now = [&rig] { return rig.machine.time(); },
                             .until = [&rig](const auto& done) { return rig.drive(done); }},
                            how);
  const status closed = rig.close();
  if (r.outcome.ok()) r.outcome = closed;
  return r;
}

// Appends to `document` and prints a line. The rate; 0 for a run that failed.
double measure(const adapter_options& made, const connecting_options& how, double of_one,
               nlohmann::json& document) {
  const connecting_result r = connect_on(made, how);
  if (!r.outcome.ok()) {
    fmt::print(stderr, "bench: {} queue pairs could not be connected: {}\n", how.queue_pairs,
               blocking::words(r.outcome));
    return 0;
  }
  const double seconds = static_cast<double>(r.nanoseconds) / 1e9;
  const double rate = how.queue_pairs / seconds, ratio = of_one == 0 ? 1.0 : rate / of_one;
  fmt::print("{:>12}  {:<19} {:>9} {:>12.3f} {:>14.0f} {:>8.2f}\n", 1u << made.log_max_commands,
             made.side_by_side ? "side by side" : "one after the other", r.commands, seconds * 1e3,
             rate, ratio);
  document.push_back({{"max_commands", 1u << made.log_max_commands},
                      {"side_by_side", made.side_by_side},
                      {"commands", r.commands},
                      {"seconds", seconds},
                      {"queue_pairs_per_second", rate},
                      {"ratio", ratio}});
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("freehca: commands in flight, measured in virtual time");
  adapter_options made;
  connecting_options how;
  std::string file;
  app.add_option("--queue-pairs", how.queue_pairs, "RC queue pairs to connect")
      ->check(CLI::Range(1u, 65536u));
  app.add_option("--at-a-time", how.at_a_time, "of these at the same time")
      ->check(CLI::Range(1u, 4096u));
  app.add_option("--latency-ns", made.latency_ns, "of a command");
  app.add_option("--post-ns", made.post_ns, "of the processor, to post a command");
  app.add_option("--json", file, "writes the figures to this file as well");
  CLI11_PARSE(app, argc, argv);

  fmt::print("{} RC queue pairs from nothing to RTS; a command takes {} ns, posting one {} ns\n",
             how.queue_pairs, made.latency_ns, made.post_ns);
  fmt::print("{:>12}  {:<19} {:>9} {:>12} {:>14} {:>8}\n", "max commands", "firmware works",
             "commands", "milliseconds", "QPs per second", "ratio");
  auto runs = nlohmann::json::array();
  const double one = measure(made, how, 0, runs);
  made.log_max_commands = 4;
  const double many = measure(made, how, one, runs);
  made.side_by_side = false;
  const double serial = measure(made, how, one, runs);
  if (!file.empty()) {
    std::ofstream to(file);
    to << nlohmann::json{{"queue_pairs", how.queue_pairs},
                         {"latency_ns", made.latency_ns},
                         {"post_ns", made.post_ns},
                         {"runs", runs}}
              .dump(2)
       << "\n";
    if (!to.flush()) {
      fmt::print(stderr, "bench: {} cannot be written\n", file);
      return EXIT_FAILURE;
    }
  }
  return one > 0 && many > 0 && serial > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
