// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/conformance/answer.hpp>

namespace freehca::conformance {

class bench;

/// One thing that every adapter should do in the same way.
struct row {
  const char* name;  ///< within its group, and stable: reports are compared by it
  const char* what;  ///< is done, in a sentence
  expectation expected;
  const char* source;  ///< who says so
};

/// What came of a row: an answer, or why this adapter cannot be asked.
struct finding {
  answer got;
  const char* not_applicable = nullptr;

  finding() = default;
  finding(answer a) : got(a) {}
  finding(status s) : got(s) {}
  finding(layouts::command_status s) : got(s) {}
  static finding impossible(const char* why) {
    finding f;
    f.not_applicable = why;
    return f;
  }
};

/// Rows of one shape. Lives for ever.
struct row_group {
  const char* name;
  const char* about;  ///< what its rows do to the adapter
  unsigned count;
  const row& (*at)(unsigned index);
  /// Leaves the adapter as it found it.
  finding (*run)(bench& with, unsigned index);
};

/// All of them, in the order in which they run.
struct row_groups {
  const row_group* const* first;
  unsigned count;
  const row_group* const* begin() const { return first; }
  const row_group* const* end() const { return first + count; }
};
row_groups all_rows();
unsigned count_rows();

}  // namespace freehca::conformance
