// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "groups.hpp"

namespace freehca::conformance {

/// One command on an object of the bench.
struct object_row {
  row about;
  layouts::opcode command{};
  bool made = false;  ///< the object is in hardware's hands by then
  named which = named::own;
  unsigned opcode_modifier = 0;
  bool input = false, output = false;
  /// What is wrong in the mailbox, which else makes the object. Not null for a finding of its own:
  /// false when the adapter has no such case.
  bool (*spoil)(bench& with) = nullptr;
  bool immediate = false;
  std::uint64_t (*value)(const bench& with) = nullptr;  ///< with `immediate`
  /// Looks at an answer that was `taken`: false means that it says something else than it should.
  bool (*check)(const bench& with) = nullptr;
};

/// Leaves the object in software's hands.
finding run_object_row(bench& with, object of, const object_row& r);

template <object Of>
finding run_row_of(bench& with, const object_row& r) {
  return run_object_row(with, Of, r);
}

}  // namespace freehca::conformance
