// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <freehca/recording/recording.hpp>

namespace freehca::recording {

/// A row of a table in the documentation.
struct page_row {
  std::string page;     ///< "docs/strictness.md"
  std::string section;  ///< the heading above the table
  std::string first;    ///< what stands in its first cell; empty: no row fits
  std::string second;   ///< and in its second; empty: not needed to find it
  /// So many rows with this first cell fit, and `second` is of the first of them: which of them it
  /// is nobody can tell.
  unsigned fitting = 1;
};

/// One thing that the card answered and the model answers otherwise.
struct difference {
  std::uint64_t time = 0;  ///< of the recording, nanoseconds
  std::size_t line = 0;    ///< of the file
  std::string step;        ///< what the driver did
  std::string where;       ///< the command, queue or register
  std::string field;       ///< "query_dev_cap.log_max_qps"
  std::string card, model;
  page_row bears_on;
};

/// In one line, with the row.
std::string words_of(const difference& d);

struct driver_replay_result {
  std::vector<difference> differences;  ///< by line
  std::vector<std::string> remarks;     ///< what the replay had to invent; complaints of the model
  std::size_t compared = 0;             ///< fields
  std::size_t left_out = 0;             ///< fields that differ and are volatile (volatile.hpp)
};

/// A model that is made to answer otherwise, for tests.
struct tampering {
  /// May change what it writes; `command` is the last that it was given.
  std::function<void(const record& command, std::uint64_t address, std::vector<std::byte>& data)>
      write;
  std::function<std::uint64_t(std::uint64_t offset, std::uint64_t value)> read_bar0;
};

/// Drives a new model as the recording's driver drove its adapter: the same stores in memory, the
/// same accesses, in the same order and no earlier than they were made, and waits in virtual time
/// for what the adapter is to do next. Compares each answer with the recorded one, field by field.
/// `from` must be usable, and by_driver.
driver_replay_result replay_driver(const recording& from, const tampering& otherwise = {});

}  // namespace freehca::recording
