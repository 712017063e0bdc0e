// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "hostile_guest.hpp"
#include "run.hpp"

namespace freehca::fuzz {

/// The model against a guest that does what the input says, all of it allowed by the bus and little of it by the
/// hardware's rules. Whatever was done, a reset makes the adapter as new.
void run(const std::uint8_t* data, std::size_t bytes) {
  testing::FLAGS_gtest_break_on_failure = true;  // an expectation that fails is a finding
  input from(data, bytes);
  hostile_guest guest(from);
  // Enough for what an input of 512 bytes says, and for a bounded run.
  for (unsigned actions = 0; actions < 200 && !from.empty(); ++actions) guest.act();
  guest.expect_order_after_reset();
}

}  // namespace freehca::fuzz
