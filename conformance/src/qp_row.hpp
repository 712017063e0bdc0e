// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "groups.hpp"

namespace freehca::conformance {

/// What is done with one queue pair that was brought to a state.
struct qp_row {
  row about;
  layouts::qp_state from{};
  /// 2ERR_QP and 2RST_QP have no mailbox; QUERY_QP is answered by one.
  layouts::opcode command{};
  layouts::qp_service service = layouts::qp_service::rc;
  named which = named::own;
  /// What is other than it should be in the mailbox. false: the adapter has no such case.
  bool (*spoil)(bench& with) = nullptr;
  /// Expected is not the status, but the state afterwards.
  bool and_then_state = false;
  /// Looks at the mailbox of QUERY_QP afterwards.
  bool (*check)(const layouts::image<layouts::qpc>& context, const bench& with) = nullptr;
};

/// Leaves the queue pair in RESET.
finding run_qp_row(bench& with, const qp_row& r);

/// Changes the context in the next mailbox.
template <auto Field, class V>
bool change_context(bench& with, V value) {
  with.change<layouts::qpc, Field>(value, layouts::qp_mailbox{}.context.offset);
  return true;
}

}  // namespace freehca::conformance
