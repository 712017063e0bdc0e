// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca::recording {

/// The first row of docs/strictness.md, "Commands", in which the command is refused with the
/// status.
struct status_row {
  layouts::opcode command;
  layouts::command_status status;
  const char* what;  ///< the second cell
  unsigned fitting;  ///< rows in which it is: what is wrong only one of them tells
};

std::span<const status_row> status_rows();

}  // namespace freehca::recording
