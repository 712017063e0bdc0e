// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/queue_pair.hpp>

#include "qp_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

bool is_transition(qp_state from, qp_state to, bool unknown) {
  if (to == qp_state::reset) return true;
  if (to == qp_state::error) return unknown || from != qp_state::reset;
  if (unknown) return false;
  return (from == qp_state::reset && to == qp_state::init) ||
         (from == qp_state::init && to == qp_state::rtr) ||
         (from == qp_state::rtr && to == qp_state::rts);
}

opcode command_for(qp_state to) {
  switch (to) {
    case qp_state::init:
      return opcode::rst2init_qp;
    case qp_state::rtr:
      return opcode::init2rtr_qp;
    default:
      return opcode::rtr2rts_qp;
  }
}

/// Returns the attributes of a transition. The transition to INIT stores its attributes in the
/// queue pair. Later transitions get the stored values.
connection_attributes with_those_of_init(queue_pair& pair, qp_state to, connection_attributes a) {
  const auto copy = [](const auto& from, auto& into) {
    into.pkey_index = from.pkey_index;
    into.remote_read = from.remote_read;
    into.remote_write = from.remote_write;
    into.remote_atomic = from.remote_atomic;
  };
  if (to == qp_state::init) copy(a, pair);
  else copy(pair, a);
  return a;
}

}  // namespace

void modify_queue_pair::start(verbs& owner, qp_handle h, qp_state to,
                              const connection_attributes& a) {
  if (!startable()) return;
  queue_pair* const pair = owner.find(h);
  if (const status s = verbs::usable(pair); !s.ok()) return refuse(owner, s);
  if (a.bytes != sizeof(connection_attributes)) return refuse(owner, driver_error::bad_argument);
  if (!is_transition(pair->qp_state, to, pair->state_unknown))
    return refuse(owner, driver_error::bad_state);
  to_ = to;
  const bool nothing_to_do =
      to == qp_state::reset && pair->qp_state == qp_state::reset && !pair->state_unknown;
  if (nothing_to_do) return refuse(owner, {});
  if (to == qp_state::reset || to == qp_state::error) {
    plain_.restart();
    plain_.request = {};
    plain_.request.opcode =
        to == qp_state::reset ? commands::to_rst_qp::code : commands::to_err_qp::code;
    if (to == qp_state::reset) commands::to_rst_qp::aim(plain_.request, pair->number);
    else commands::to_err_qp::aim(plain_.request, pair->number);
    // The command is an ordinary change of state and not part of a teardown. It has the same
    // priority as the other transitions.
    plain_.request.lane = lane::bulk;
    return start_command(*pair, step::modify, plain_, &finished);
  }
  const result<image<qp_mailbox>> mailbox =
      qp_mailbox_for(*pair, to, with_those_of_init(*pair, to, a));
  if (!mailbox.ok()) return refuse(owner, mailbox.error());
  transition_.restart();
  transition_.aim(command_for(to), pair->number);
  transition_.input = mailbox.value();
  if (to == qp_state::init) pair->exists = true;
  start_command(*pair, step::modify, transition_, &finished);
}

void modify_queue_pair::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<modify_queue_pair&>(op);
  auto& pair = static_cast<queue_pair&>(self.object());
  pair.moving_to = self.to_;
  if (pair.in_doubt) {
    // The queue pair may be in RESET, where a posted request never completes.
    pair.state_unknown = true;
    return pair.suspend();
  }
  pair.settle_change(outcome.ok());
  if (outcome.ok() && pair.owner->up()) pair.resume();
}

void queue_pair::settle_change(bool done) {
  state_unknown = false;
  if (!done) {
    if (moving_to == qp_state::init) exists = false;
    return;
  }
  qp_state = moving_to;
  if (moving_to != qp_state::reset) return;
  // The destruction then needs no command. The firmware refuses to reset a queue pair that is in
  // RESET.
  exists = false;
  forget_completions();
  rings.send.reset();
  if (shared == nullptr) rings.receive.reset();
}

void query_queue_pair::start(verbs& owner, qp_handle h) {
  if (!startable()) return;
  queue_pair* const pair = owner.find(h);
  if (const status s = verbs::usable(pair); !s.ok()) return refuse(owner, s);
  // In RESET, the device does not have the queue pair.
  if (!pair->exists) return refuse(owner, driver_error::bad_state);
  query_.restart();
  query_.aim(pair->number);
  start_command(*pair, step::query, query_, &finished);
}

void query_queue_pair::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<query_queue_pair&>(op);
  auto& pair = static_cast<queue_pair&>(self.object());
  if (!outcome.ok()) return;
  const qp_state now = self.context().get<&qpc::state>();
  if (now != qp_state::error && now != qp_state::sq_error) return;
  pair.qp_state = now;
  if (pair.owner->up()) pair.resume();
}

}  // namespace freehca
