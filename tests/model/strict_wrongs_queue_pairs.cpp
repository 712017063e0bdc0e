// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the commands on queue pairs can have wrong.
#include <freehca/layouts/cmpt.hpp>

#include "entry_sizes.hpp"
#include "qp_transitions.hpp"
#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using w = strict_world;

constexpr std::uint64_t context_at = test_driver::qpc + w::a_qpn * entry_bytes::qpc;

template <auto Field, auto Value>
command_status context_with(w& world, call& c) {
  auto context = context_of(image<qp_mailbox>::from_bytes(c.mailbox.data()));
  context.set<Field>(Value);
  image<qp_mailbox> m;
  c.with(m.set_bytes<&qp_mailbox::context>(context.data()));
  return world.issue(c);
}
command_status without_context(w& world, call& c) {
  EXPECT_EQ(world.driver->command(opcode::unmap_icm, context_at / 4096 * 4096, 1).status,
            command_status::ok);
  return world.issue(c);
}
command_status without_control(w& world, call& c) {
  const std::uint64_t va =
      test_driver::cmpt + cmpt_offset(cmpt_type::qp, w::a_qpn, entry_bytes::cmpt);
  EXPECT_EQ(world.driver->command(opcode::unmap_icm, va / 4096 * 4096, 1).status,
            command_status::ok);
  return world.issue(c);
}

/// In every state but the one that the transition starts from: the same answer, and the state stays.
command_status from_other_states(w& world, call& c) {
  const qp_state right = transition_of(c.what)->from;
  command_status first = command_status::ok;
  for (const qp_state s : {qp_state::reset, qp_state::init, qp_state::rtr, qp_state::rts,
                           qp_state::sq_error, qp_state::sq_drained}) {
    if (s == right) continue;
    world.driver->command(opcode::to_rst_qp, 0, w::a_qpn, 2);
    world.make_qp_in(s);
    if (!c.mailbox.empty())
      c = world.qp_call(c.what,
                        right == qp_state::reset ? world.first_context(world.qp) : world.ready());
    c.in = world.driver->input;
    const command_status now = world.issue(c);
    EXPECT_EQ(world.state_of(world.qp), s);
    if (first == command_status::ok) first = now;
    if (now != first) return now;
  }
  return first;
}
command_status when_reset(w& world, call& c) {
  EXPECT_EQ(world.driver->command(opcode::to_rst_qp, 0, w::a_qpn, 2).status, command_status::ok);
  return world.issue(c);
}

}  // namespace

void add_queue_pair_wrongs(std::vector<wrong_call>& to) {
  for (const opcode o : {opcode::rst2init_qp, opcode::init2init_qp, opcode::init2rtr_qp,
                         opcode::rtr2rts_qp, opcode::rts2rts_qp, opcode::sqerr2rts_qp,
                         opcode::rts2sqd_qp, opcode::sqd2rts_qp, opcode::sqd2sqd_qp}) {
    to.push_back({o, "from_another_state", from_other_states, false});
    to.push_back({o, "context_not_lent", without_context, false});
  }
  for (const opcode o : {opcode::to_err_qp, opcode::to_rst_qp, opcode::query_qp}) {
    to.push_back({o, "in_the_reset_state", when_reset, false});
    to.push_back({o, "context_not_lent", without_context, false});
  }
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::rst2init_qp, how, wrong, repairs});
  };
  add("reserved_number", [](w& world, call& c) {
    context_with<&qpc::local_qpn, 1u>(world, c.numbered(1));
    return world.issue(c);
  });
  add("number_past_the_table", numbered<w::a_qpn + (1u << test_driver::log_qps)>);
  add("number_in_the_context_that_is_not_its_own", context_with<&qpc::local_qpn, 0u>);
  add("service_of_reliable_datagrams", context_with<&qpc::service, qp_service::rd>);
  add("service_that_there_is_not", context_with<&qpc::service, qp_service{0x4}>);
  add("send_completion_queue_that_does_not_exist", context_with<&qpc::cqn_send, w::cqn + 1>);
  add("receive_completion_queue_that_does_not_exist", context_with<&qpc::cqn_recv, w::cqn + 1>);
  add("shared_receive_queue_that_does_not_exist", context_with<&qpc::srq, 1u>);
  add("send_entries_below_a_basic_block", context_with<&qpc::log_sq_stride, 1u>);
  add("control_entry_not_lent", without_control, false);
  to.push_back({opcode::init2rtr_qp, "MTU_that_there_is_not", context_with<&qpc::mtu, ib_mtu{0}>});
  to.push_back({opcode::init2rtr_qp, "MTU_above_the_largest", context_with<&qpc::mtu, ib_mtu{7}>});
  const opcode special = opcode::conf_special_qp;
  to.push_back({special, "number_off_its_alignment", numbered<0x61>});
  to.push_back({special, "reserved_number", numbered<0x8>});
  to.push_back({special, "number_past_the_table", numbered<1u << test_driver::log_qps>});
}

}  // namespace freehca::model::test
