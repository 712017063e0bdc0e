// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What many commands in flight bring: RC queue pairs from nothing to RTS, on the adapter's virtual clock, with
// firmware that takes one command at a time and firmware that takes sixteen, and works on them side by side or
// one after the other.
#include <cstdlib>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/verified_traffic/report.hpp>

#include "connecting.hpp"

namespace {

using freehca::bench::connecting_options;
using freehca::bench::connecting_result;

double rate(const connecting_options& how, const connecting_result& r) {
  return how.queue_pairs / (static_cast<double>(r.nanoseconds) / 1e9);
}

// The rate; 0 for a run that failed.
double measure(const connecting_options& how, double of_one) {
  const connecting_result r = connect_queue_pairs(how);
  if (!r.outcome.ok()) {
    fmt::print(stderr, "bench: {} queue pairs could not be connected: {}\n", how.queue_pairs,
               freehca::verified_traffic::words(r.outcome));
    return 0;
  }
  const double each = rate(how, r);
  fmt::print("{:>12}  {:<19} {:>9} {:>12.3f} {:>14.0f} {:>8.2f}\n", 1u << how.log_max_commands,
             how.side_by_side ? "side by side" : "one after the other", r.commands,
             static_cast<double>(r.nanoseconds) / 1e6, each, of_one == 0 ? 1.0 : each / of_one);
  return each;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("freehca: commands in flight, measured in virtual time");
  connecting_options how;
  app.add_option("--queue-pairs", how.queue_pairs, "RC queue pairs to connect")
      ->check(CLI::Range(1u, 65536u));
  app.add_option("--at-a-time", how.at_a_time, "of these at the same time")
      ->check(CLI::Range(1u, 4096u));
  app.add_option("--latency-ns", how.latency_ns, "of a command");
  app.add_option("--post-ns", how.post_ns, "of the processor, to post a command");
  CLI11_PARSE(app, argc, argv);

  fmt::print("{} RC queue pairs from nothing to RTS; a command takes {} ns, posting one {} ns\n",
             how.queue_pairs, how.latency_ns, how.post_ns);
  fmt::print("{:>12}  {:<19} {:>9} {:>12} {:>14} {:>8}\n", "max commands", "firmware works",
             "commands", "milliseconds", "QPs per second", "ratio");
  how.log_max_commands = 0;
  const double one = measure(how, 0);
  how.log_max_commands = 4;
  const double many = measure(how, one);
  how.side_by_side = false;
  const double serial = measure(how, one);
  return one > 0 && many > 0 && serial > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
