// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How closely the memory that is lent for contexts follows the queue pairs that are alive, and
// whether all of it comes back; once with memory in plenty, and once with pages to lend that run
// out now and then.
#include <cstdlib>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <freehca/blocking/words.hpp>

#include "churn.hpp"

namespace {

using freehca::bench::churn_options;
using freehca::bench::churn_result;

bool show(const churn_options& how) {
  const churn_result r = churn(how);
  fmt::print("{}\n", how.memory_fails ? "pages to lend run out now and then" : "memory in plenty");
  fmt::print("  made                 {} queue pairs, {} more refused for want of memory\n", r.made,
             r.refused);
  fmt::print("  lent before          {} bytes\n", r.lent_before);
  fmt::print(
      "  lent at the peak     {} bytes, {} of them for {} queue pairs, which occupy {}: {:.3f}\n",
      r.lent_at_peak, r.lent_at_peak - r.lent_before, r.most_alive, r.occupied_at_peak,
      r.occupied_at_peak == 0 ? 0.0
                              : static_cast<double>(r.lent_at_peak - r.lent_before) /
                                    static_cast<double>(r.occupied_at_peak));
  fmt::print("  lent for nothing     {} pages at most, at {} samples; {} are allowed\n",
             r.most_unneeded, r.samples, r.unneeded_bound);
  fmt::print("  lent after the last  {} bytes\n", r.lent_after);
  if (!r.outcome.ok()) fmt::print(stderr, "FAILED: {}\n", freehca::blocking::words(r.outcome));
  if (!r.wrong.empty()) fmt::print(stderr, "WRONG: {}\n", r.wrong);
  return r.outcome.ok() && r.wrong.empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("freehca: context memory that follows the objects");
  churn_options how;
  app.add_option("--queue-pairs", how.queue_pairs, "RC queue pairs made in all")
      ->check(CLI::Range(1u, 10'000'000u));
  app.add_option("--alive", how.alive, "of these at the same time, at most")
      ->check(CLI::Range(1u, 65536u));
  app.add_option("--seed", how.seed, "of the random order");
  CLI11_PARSE(app, argc, argv);
  bool good = show(how);
  how.memory_fails = true;
  good = show(how) && good;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
