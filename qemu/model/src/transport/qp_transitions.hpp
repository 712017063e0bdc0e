// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/qpc.hpp>

namespace freehca::model {

/// One transition of the queue pair state machine (IBTA vol. 1, 10.3.1; tables 91 to 96 for what
/// each requires and permits).
struct qp_transition {
  layouts::opcode command;
  layouts::qp_state from, to;
  std::uint32_t optional;  ///< qp_optpar bits that it permits; others in a mailbox are ignored
};

/// The transition that `command` makes; nullptr for commands that are not in the table (2ERR_QP,
/// 2RST_QP).
const qp_transition* transition_of(layouts::opcode command);

/// Takes into `context` what `transition` requires, and what `mask` chooses of what it permits,
/// from the mailbox's context `given`.
void apply(const qp_transition& transition, std::uint32_t mask,
           const layouts::image<layouts::qpc>& given, layouts::image<layouts::qpc>& context);

}  // namespace freehca::model
