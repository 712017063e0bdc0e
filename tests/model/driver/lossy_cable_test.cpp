// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two of our drivers on one bad cable: RC delivers every byte right and in order, or ends the
// request with an error, and nothing behind it ends well; UC and UD deliver whole messages or none;
// so do XRC and accesses by memory windows, all of them by RoCE on VLANs and beside them, and raw
// Ethernet frames, of which a damaged one differs in one bit; every request ends once; what is held
// equals a ledger kept beside.
#include <cstdlib>
#include <iostream>
#include <random>

#include "lossy_run.hpp"

namespace freehca {
namespace {

using testing::lossy_outcome;
using testing::lossy_plan;
using testing::lossy_run;

struct tally {
  unsigned runs = 0, rnr = 0, retries = 0, link_down = 0, reset = 0;
  std::uint64_t messages = 0, ended_well = 0;
};

// True: nothing failed.
bool run(std::uint64_t seed, tally& all) {
  const lossy_plan plan(seed);
  std::ostringstream about;
  about << plan;
  SCOPED_TRACE(about.str());
  lossy_run one(plan);
  const lossy_outcome o = one.run();
  ++all.runs;
  all.rnr += o.rnr;
  all.retries += o.retries;
  all.link_down += o.link_down;
  all.reset += o.reset;
  all.messages += o.messages;
  all.ended_well += o.ended_well;
  return !::testing::Test::HasFailure();
}

std::ostream& operator<<(std::ostream& to, const tally& t) {
  return to << t.runs << " runs: " << t.messages << " messages, " << t.ended_well
            << " ended well; runs that ended by RNR " << t.rnr << ", by retries used up "
            << t.retries << ", by link down " << t.link_down << ", by a reset " << t.reset;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

/// FREEHCA_SEED: the first seed, printed when it is fresh. FREEHCA_RUNS: how many.
TEST(lossy_cable, two_drivers_on_fresh_seeds) {
  const std::uint64_t first = from_environment("FREEHCA_SEED", std::random_device{}());
  const std::uint64_t runs = from_environment("FREEHCA_RUNS", 200);
  std::cout << "FREEHCA_SEED=" << first << " FREEHCA_RUNS=" << runs << std::endl;
  tally all;
  for (std::uint64_t i = 0; i < runs; ++i)
    if (!run(first + i, all)) {
      std::cout << "to run the failed one again: FREEHCA_SEED=" << first + i << " FREEHCA_RUNS=1\n";
      break;
    }
  std::cout << all << "\n";
  if (runs < 200 || HasFailure()) return;
  // A twentieth of what the plan draws: enough to see that the plan still reaches each end.
  EXPECT_GE(all.rnr, runs / 100);
  EXPECT_GE(all.retries, runs / 100);
  EXPECT_GE(all.link_down, runs / 100);
  EXPECT_GE(all.reset, runs / 100);
}

}  // namespace
}  // namespace freehca
