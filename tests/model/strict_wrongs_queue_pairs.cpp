// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the commands on queue pairs can have wrong.
#include <freehca/layouts/cmpt.hpp>
#include <freehca/layouts/set_port.hpp>

#include "basis/adapter_limits.hpp"
#include "strict_wrongs.hpp"
#include "transport/qp_transitions.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using w = strict_world;

constexpr std::uint64_t context_at = test_driver::qpc + w::a_qpn * entry_bytes::qpc;

/// Changes a field of the mailbox's context, and chooses the options of `mask`.
template <auto Field, class V>
void change(call& c, V value, std::uint32_t mask = 0) {
  auto m = image<qp_mailbox>::from_bytes(c.mailbox.data());
  auto context = context_of(m);
  context.set<Field>(value);
  m.set<&qp_mailbox::opt_param_mask>(m.get<&qp_mailbox::opt_param_mask>() | mask);
  c.with(m.set_bytes<&qp_mailbox::context>(context.data()));
}
template <auto Field, auto Value, std::uint32_t Mask = 0>
command_status context_with(w& world, call& c) {
  change<Field>(c, Value, Mask);
  return world.issue(c);
}
template <std::uint32_t Mask>
command_status choosing(w& world, call& c) {
  return context_with<&qpc::local_qpn, w::a_qpn, Mask>(world, c);
}
/// Bit `Bit` of the big-endian word at `Offset` of the context.
template <std::size_t Offset, unsigned Bit>
command_status context_bit(w& world, call& c) {
  c.mailbox[qp_mailbox{}.context.offset + Offset + 3 - Bit / 8] |= std::byte{1u << Bit % 8};
  return world.issue(c);
}
/// On an adapter of one port.
template <class Path, std::uint32_t Mask = 0>
command_status by_port_2(w& world, call& c) {
  options how = world.how;
  how.ports = 1;
  world.start(how, std::make_unique<test_host>(96u << 20));
  c = good_call_of(c.what).make(world);
  c.in = world.driver->input;
  const call by_port_1 = c;
  const command_status s = context_with<&Path::sched_queue, sched_queue_ib(2, 0), Mask>(world, c);
  EXPECT_EQ(world.issue(by_port_1), command_status::ok);
  return s;
}
/// By port 2, which has but one P_Key and one GID.
template <class Path, auto Field, std::uint32_t Mask = 0>
command_status by_a_small_port(w& world, call& c) {
  using l = set_port_ib;
  image<l> shape;
  shape.set<&l::mp>(true).set<&l::max_pkey>(1u).set<&l::mg>(true).set<&l::max_gid>(1u);
  EXPECT_EQ(world.driver->command_with(opcode::set_port, shape, 2).status, command_status::ok);
  change<&Path::grh>(c, true);
  change<&Path::sched_queue>(c, sched_queue_ib(2, 0));
  return context_with<Field, 5u, Mask>(world, c);
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

/// In every state but the one that the transition starts from: the same answer, and the state
/// stays.
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

constexpr opcode transitions[] = {opcode::init2init_qp, opcode::init2rtr_qp,  opcode::rtr2rts_qp,
                                  opcode::rts2rts_qp,   opcode::sqerr2rts_qp, opcode::sqd2rts_qp,
                                  opcode::sqd2sqd_qp};

void add_states(std::vector<wrong_call>& to) {
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
  for (const opcode o : {opcode::rts2sqd_qp, opcode::to_err_qp, opcode::to_rst_qp, opcode::query_qp,
                         opcode::rst2init_qp})
    to.push_back({o, "number_past_the_table", numbered<w::a_qpn + (1u << test_driver::log_qps)>});
  for (const opcode o : transitions)
    to.push_back({o, "number_past_the_table", numbered<w::a_qpn + (1u << test_driver::log_qps)>});
  to.push_back({opcode::rts2sqd_qp, "modifier_bits_that_it_has_not",
                [](w& world, call& c) { return world.issue(c.numbered(w::a_qpn | 0x7f00'0000)); }});
}

void add_creation(std::vector<wrong_call>& to) {
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::rst2init_qp, how, wrong, repairs});
  };
  add("reserved_number", [](w& world, call& c) {
    context_with<&qpc::local_qpn, 1u>(world, c.numbered(1));
    return world.issue(c);
  });
  add("number_in_the_context_that_is_not_its_own", context_with<&qpc::local_qpn, 0u>);
  add("service_of_reliable_datagrams", context_with<&qpc::service, qp_service::rd>);
  add("service_that_there_is_not", context_with<&qpc::service, qp_service{0x4}>);
  add("send_completion_queue_that_does_not_exist", context_with<&qpc::cqn_send, w::cqn + 1>);
  add("receive_completion_queue_that_does_not_exist", context_with<&qpc::cqn_recv, w::cqn + 1>);
  add("shared_receive_queue_that_does_not_exist", context_with<&qpc::srq, 1u>);
  add("send_entries_below_a_basic_block", context_with<&qpc::log_sq_stride, 1u>);
  add("send_queue_above_the_largest", context_with<&qpc::log_sq_size, 15u>);
  add("receive_queue_above_the_largest", context_with<&qpc::log_rq_size, 15u>);
  add("page_size_above_the_largest", context_with<&qpc::log_page_size, 20u>);
  add("UAR_page_past_the_BAR", context_with<&qpc::usr_page, 0xffffffu>);
  add("buffer_without_translation", context_with<&qpc::mtt_base, 0x400000u>);
  add("protection_domain_above_those_reported", context_with<&qpc::pd, 0x123456u>);
  add("XRC_domain_above_those_reported", context_bit<0x98, 16>);
  add("reserved_bit", context_bit<0x00, 0>);
  add("reserved_bit_beside_the_receive_queue", context_bit<0x08, 23>);
  add("no_send_queue", context_with<&qpc::log_sq_size, 0u>);
  add("no_queue_at_all_and_RSS", [](w& world, call& c) {
    change<&qpc::service>(c, qp_service::mlx);
    change<&qpc::rss>(c, true);
    change<&qpc::log_sq_size>(c, 0xfu);
    change<&qpc::log_rq_size>(c, 0xfu);
    change<&qpc::log_page_size>(c, 0x34u);
    return context_bit<0x40, 31>(world, c);
  });
  add("port_past_the_last", by_port_2<primary_path>, false);
  add("alternate_port_past_the_last", by_port_2<alternate_path>, false);
  add("migration_state_armed", context_with<&qpc::pm_state, path_migration::armed>);
  add("option_that_it_does_not_permit", choosing<0xffffffff>);
  add("control_entry_not_lent", without_control, false);
}

void add_transitions(std::vector<wrong_call>& to) {
  namespace o = qp_optpar;
  using p = primary_path;
  using a = alternate_path;
  const auto add = [&to](std::initializer_list<opcode> of, const char* how, auto wrong,
                         bool repairs = true) {
    for (const opcode what : of) to.push_back({what, how, wrong, repairs});
  };
  for (const opcode what : transitions) {
    to.push_back({what, "option_that_it_does_not_permit", [](w& world, call& c) {
                    change<&qpc::local_qpn>(c, w::a_qpn, ~transition_of(c.what)->optional);
                    return world.issue(c);
                  }});
    to.push_back({what, "reserved_bit", context_bit<0x00, 0>});
    to.push_back({what, "state_that_is_not_the_next", context_with<&qpc::state, qp_state::reset>});
    to.push_back({what, "service_of_another", context_with<&qpc::service, qp_service::rd>});
  }
  const opcode init = opcode::init2init_qp, rtr = opcode::init2rtr_qp, rts = opcode::rtr2rts_qp,
               rts2rts = opcode::rts2rts_qp, sqd2rts = opcode::sqd2rts_qp, sqd = opcode::sqd2sqd_qp;
  add({init}, "port_past_the_last", by_port_2<p, o::sched_queue>, false);
  add({rtr, sqd}, "port_past_the_last", by_port_2<p, o::primary_path>, false);
  add({rtr, rts, rts2rts, sqd2rts, sqd}, "alternate_port_past_the_last",
      by_port_2<a, o::alternate_path>, false);
  add({init, rtr, sqd}, "P_Key_index_past_the_table",
      by_a_small_port<p, &p::pkey_index, o::pkey_index | o::sched_queue>);
  add({rtr, rts, rts2rts, sqd2rts, sqd}, "alternate_P_Key_index_past_the_table",
      by_a_small_port<a, &a::pkey_index, o::alternate_path>);
  add({rtr, sqd}, "GID_index_past_the_table", by_a_small_port<p, &p::mgid_index, o::primary_path>);
  add({rtr, sqd}, "destination_LID_0", context_with<&p::rlid, 0u, o::primary_path>);
  add({rtr, sqd}, "static_rate_that_is_not_reported",
      context_with<&p::static_rate, 15u, o::primary_path>);
  add({rtr, sqd}, "link_type_of_Ethernet",
      context_with<&p::link_type, path_link::ethernet, o::primary_path>);
  add({rtr, sqd}, "responder_resources_above_those_of_INIT_HCA",
      context_with<&qpc::rra_max, test_driver::log_rd + 1, o::rra_max>);
  add({rts, rts2rts, sqd2rts, sqd}, "migration_state_armed",
      context_with<&qpc::pm_state, path_migration::armed, o::pm_state>);
  add({rts, rts2rts, sqd2rts, sqd}, "migration_state_that_there_is_not",
      context_with<&qpc::pm_state, path_migration{2}, o::pm_state>);
  add({sqd}, "migration_state_rearm",
      context_with<&qpc::pm_state, path_migration::rearm, o::pm_state>);
  add({rtr}, "MTU_that_there_is_not", context_with<&qpc::mtu, ib_mtu{0}>);
  add({rtr}, "MTU_above_the_largest", context_with<&qpc::mtu, ib_mtu{7}>);
}

}  // namespace

void add_queue_pair_wrongs(std::vector<wrong_call>& to) {
  add_states(to);
  add_creation(to);
  add_transitions(to);
  const opcode special = opcode::conf_special_qp;
  to.push_back({special, "number_off_its_alignment", numbered<0x61>});
  to.push_back({special, "reserved_number", numbered<0x8>});
  to.push_back({special, "number_past_the_table", numbered<1u << test_driver::log_qps>});
}

}  // namespace freehca::model::test
