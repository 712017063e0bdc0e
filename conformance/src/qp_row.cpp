// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "qp_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace {

/// Where the command leads.
qp_state end_of(opcode o) {
  switch (o) {
    case opcode::rst2init_qp:
    case opcode::init2init_qp:
      return qp_state::init;
    case opcode::init2rtr_qp:
      return qp_state::rtr;
    default:
      return qp_state::rts;
  }
}

bool is_first_way(opcode o) {
  return o == opcode::rst2init_qp || o == opcode::init2rtr_qp || o == opcode::rtr2rts_qp;
}

bool has_mailbox(opcode o) {
  return o != opcode::to_err_qp && o != opcode::to_rst_qp && o != opcode::rts2sqd_qp &&
         o != opcode::query_qp;
}

finding ask(bench& with, const qp_row& r) {
  // A queue pair completes somewhere.
  if (const answer a = with.make(object::completion_queue); !a.is_ok()) return a.unprepared();
  if (const answer a = with.bring_to(r.service, r.from); !a.is_ok()) return a.unprepared();
  with.describe(r.service, end_of(r.command));
  // What may be changed besides is not.
  if (!is_first_way(r.command)) with.change<qp_mailbox, &qp_mailbox::opt_param_mask>(0u);
  if (r.spoil != nullptr && !r.spoil(with))
    return finding::impossible("no value is beyond what this adapter can have");
  const bool plain_reset = r.command == opcode::to_rst_qp;
  const status s = with.issue(
      {.what = r.command,
       .modifier = with.number(object::queue_pair, r.which),
       .opcode_modifier = plain_reset ? static_cast<unsigned>(to_rst_qp_modifier::no_output) : 0,
       .input = has_mailbox(r.command),
       .output = r.command == opcode::query_qp});
  if (!s.ok() || (!r.and_then_state && r.check == nullptr)) return s;
  if (r.and_then_state) return with.settled_state();
  const finding f = with.state();
  if (f.got.what() != answer::kind::state) return f;
  return answer::holds(r.check(context_of(with.output<qp_mailbox>()), with));
}

}  // namespace

finding run_qp_row(bench& with, const qp_row& r) {
  const finding f = ask(with, r);
  return with.conclude(f, [&]() -> status {
    FREEHCA_TRY(with.unmake(object::queue_pair));
    return with.unmake(object::completion_queue);
  });
}

}  // namespace freehca::conformance
