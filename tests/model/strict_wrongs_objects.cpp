// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the commands on event, completion and shared receive queues, regions and translations can
// have wrong.
#include <freehca/layouts/cmpt.hpp>

#include "basis/adapter_limits.hpp"
#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using w = strict_world;

/// When the page of context memory at `va` has been taken back.
command_status not_lent(w& world, call& c, std::uint64_t va) {
  EXPECT_EQ(world.driver->command(opcode::unmap_icm, va / 4096 * 4096, 1).status,
            command_status::ok);
  return world.issue(c);
}
template <std::uint64_t Va>
command_status without(w& world, call& c) {
  return not_lent(world, c, Va);
}
template <cmpt_type Type, std::uint32_t Number>
command_status without_control(w& world, call& c) {
  return not_lent(world, c, test_driver::cmpt + cmpt_offset(Type, Number, entry_bytes::cmpt));
}
template <std::size_t Byte, unsigned Bit>
command_status reserved_bit(w& world, call& c) {
  c.mailbox[Byte] |= std::byte{1u << Bit};
  return world.issue(c);
}

/// A queue pair completes into the queue, goes wrong when that has gone, and harms nobody.
command_status with_queue_pairs(w& world, call& c) {
  world.fresh_qp();
  auto context = world.first_context(world.qp);
  context.set<&qpc::cqn_recv>(w::a_cqn);
  EXPECT_EQ(world.modify(opcode::rst2init_qp, w::a_qpn, context), command_status::ok);
  world.post_receive(world.qp, w::region_start, 64, world.key);
  const command_status s = world.issue(c);
  EXPECT_EQ(world.driver->command(opcode::to_err_qp, 0, w::a_qpn).status, command_status::ok);
  world.host->run();
  EXPECT_EQ(world.state_of(world.qp), qp_state::error);
  EXPECT_TRUE(world.no_completion());
  return s;
}
/// A completion queue that reports to the queue.
command_status with_completion_queues(w& world, call& c) {
  EXPECT_EQ(world.driver->make_cq(world.other_cq, w::a_cqn, w::a_eqn).status, command_status::ok);
  return world.issue(c);
}

/// Translations that nobody has lent.
constexpr std::uint64_t no_translations = 0x400000;

void add_event_queues(std::vector<wrong_call>& to) {
  constexpr std::uint64_t context = test_driver::eqc + w::a_eqn * entry_bytes::eqc;
  for (const opcode o : {opcode::sw2hw_eq, opcode::hw2sw_eq, opcode::query_eq})
    to.push_back({o, "number_past_the_table", numbered<1u << test_driver::log_eqs>});
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::sw2hw_eq, how, wrong, repairs});
  };
  add("reserved_number", numbered<1>);
  add("in_hardwares_hands", twice, false);
  add("size_above_the_largest", mailbox_with<eqc, &eqc::log_eq_size, 23u>);
  add("page_size_above_the_largest", mailbox_with<eqc, &eqc::log_page_size, 20u>);
  add("vector_that_there_is_not", mailbox_with<eqc, &eqc::intr, bar0::msix_vectors>);
  add("state_that_none_begins_in", mailbox_with<eqc, &eqc::state, eq_state{0x3}>);
  add("reserved_bit", reserved_bit<0, 3>);
  add("context_not_lent", without<context>, false);
  add("control_entry_not_lent", without_control<cmpt_type::eq, w::a_eqn>, false);
  add("buffer_without_translation", mailbox_with<eqc, &eqc::mtt_base_addr, no_translations>);
  to.push_back({opcode::hw2sw_eq, "not_in_hardwares_hands", twice, false});
  to.push_back(
      {opcode::hw2sw_eq, "while_completion_queues_report_to_it", with_completion_queues, false});
  to.push_back({opcode::hw2sw_eq, "context_not_lent", without<context>, false});
  to.push_back({opcode::query_eq, "not_in_hardwares_hands", numbered<w::a_eqn + 1>});
  to.push_back({opcode::query_eq, "context_not_lent", without<context>, false});
  to.push_back({opcode::map_eq, "queue_that_does_not_exist", numbered<w::eqn + 1>});
  to.push_back({opcode::map_eq, "number_past_the_table", numbered<1u << test_driver::log_eqs>});
  to.push_back({opcode::map_eq, "event_that_there_is_not",
                [](w& world, call& c) { return world.issue(c.given(std::uint64_t{1} << 63)); }});
}

void add_completion_queues(std::vector<wrong_call>& to) {
  constexpr std::uint64_t context = test_driver::cqc + w::a_cqn * entry_bytes::cqc;
  for (const opcode o : {opcode::sw2hw_cq, opcode::hw2sw_cq, opcode::query_cq, opcode::modify_cq})
    to.push_back({o, "number_past_the_table", numbered<1u << test_driver::log_cqs>});
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::sw2hw_cq, how, wrong, repairs});
  };
  add("reserved_number", numbered<1>);
  add("in_hardwares_hands", twice, false);
  add("size_above_the_largest", mailbox_with<cqc, &cqc::log_cq_size, 23u>);
  add("page_size_above_the_largest", mailbox_with<cqc, &cqc::log_page_size, 20u>);
  add("state_that_there_is_not", mailbox_with<cqc, &cqc::state, cq_state{0x3}>);
  add("state_fired", mailbox_with<cqc, &cqc::state, cq_state::fired>);
  add("UAR_page_past_the_BAR", mailbox_with<cqc, &cqc::usr_page, 0xffffffu>);
  add("event_queue_that_does_not_exist", mailbox_with<cqc, &cqc::comp_eqn, w::eqn + 1>);
  add("reserved_bit", reserved_bit<0, 3>);
  add("context_not_lent", without<context>, false);
  add("control_entry_not_lent", without_control<cmpt_type::cq, w::a_cqn>, false);
  add("buffer_without_translation", mailbox_with<cqc, &cqc::mtt_base_addr, no_translations>);
  to.push_back({opcode::hw2sw_cq, "not_in_hardwares_hands", twice, false});
  to.push_back({opcode::hw2sw_cq, "while_queue_pairs_use_it", with_queue_pairs, false});
  to.push_back({opcode::hw2sw_cq, "context_not_lent", without<context>, false});
  to.push_back({opcode::query_cq, "not_in_hardwares_hands", numbered<w::a_cqn + 1>});
  to.push_back({opcode::query_cq, "context_not_lent", without<context>, false});
  const opcode o = opcode::modify_cq;
  to.push_back({o, "not_in_hardwares_hands", numbered<w::a_cqn + 1>});
  to.push_back({o, "context_not_lent", without<context>, false});
  const auto resize = [&to, o](const char* how, auto spoil) {
    to.push_back({o, how, [spoil](w& world, call& c) {
                    spoil(world, c.by(static_cast<unsigned>(modify_cq_modifier::resize)));
                    return world.issue(c);
                  }});
  };
  resize("size_above_the_largest", [](w&, call& c) { c.change<&cqc::log_cq_size, cqc>(23u); });
  resize("page_size_above_the_largest",
         [](w&, call& c) { c.change<&cqc::log_page_size, cqc>(20u); });
  resize("buffer_without_translation",
         [](w&, call& c) { c.change<&cqc::mtt_base_addr, cqc>(no_translations); });
}

void add_shared_queues(std::vector<wrong_call>& to) {
  constexpr std::uint64_t context = test_driver::srqc + w::a_srqn * entry_bytes::srqc;
  for (const opcode o :
       {opcode::sw2hw_srq, opcode::hw2sw_srq, opcode::query_srq, opcode::arm_srq}) {
    to.push_back({o, "number_past_the_table", numbered<1u << test_driver::log_srqs>});
    to.push_back({o, "context_not_lent", without<context>, false});
  }
  for (const opcode o : {opcode::query_srq, opcode::arm_srq})
    to.push_back({o, "not_in_hardwares_hands", numbered<w::a_srqn + 1>});
  to.push_back({opcode::hw2sw_srq, "not_in_hardwares_hands", twice, false});
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::sw2hw_srq, how, wrong, repairs});
  };
  add("reserved_number",
      [](w& world, call& c) { return world.issue(c.change<&srqc::srqn, srqc>(1u).numbered(1)); });
  add("in_hardwares_hands", twice, false);
  add("number_of_another", mailbox_with<srqc, &srqc::srqn, w::a_srqn + 1>);
  add("entries_without_room", mailbox_with<srqc, &srqc::log_srq_stride, 0u>);
  add("size_above_the_largest", mailbox_with<srqc, &srqc::log_srq_size, 15u>);
  add("page_size_above_the_largest", mailbox_with<srqc, &srqc::log_page_size, 20u>);
  add("buffer_without_translation", mailbox_with<srqc, &srqc::mtt_base_addr, no_translations>);
  add("protection_domain_above_those_reported", mailbox_with<srqc, &srqc::pd, 0x1ffffu>);
  add("reserved_bit", reserved_bit<4, 3>);
  add("control_entry_not_lent", without_control<cmpt_type::srq, w::a_srqn>, false);
  to.push_back({opcode::arm_srq, "limit_above_the_queue",
                [](w& world, call& c) { return world.issue(c.given(test_srq::entries)); }});
}

void add_regions(std::vector<wrong_call>& to) {
  constexpr std::uint64_t context = test_driver::dmpt + w::an_mpt * entry_bytes::dmpt;
  for (const opcode o : {opcode::sw2hw_mpt, opcode::hw2sw_mpt, opcode::query_mpt}) {
    to.push_back({o, "number_past_the_table", numbered<1u << test_driver::log_mpts>});
    to.push_back({o, "reserved_number", numbered<1>});
    to.push_back({o, "context_not_lent", without<context>, false});
  }
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::sw2hw_mpt, how, wrong, repairs});
  };
  add("in_hardwares_hands", twice, false);
  add("key_of_another", mailbox_with<mpt, &mpt::mem_key, w::an_mpt + 1>);
  add("page_size_below_512_bytes", mailbox_with<mpt, &mpt::entity_size, 8u>);
  add("page_size_above_2_GB", mailbox_with<mpt, &mpt::entity_size, 32u>);
  add("region_bound_like_a_window", mailbox_with<mpt, &mpt::lkey, 0x100u>);
  add("windows_bound_already", mailbox_with<mpt, &mpt::win_cnt, 1u>);
  add("block_mode", mailbox_with<mpt, &mpt::block_mode, true>);
  add("repeated_translations", mailbox_with<mpt, &mpt::mtt_rep, 1u>);
  add("reserved_bit", reserved_bit<3, 0>);
  add("protection_domain_above_those_reported", mailbox_with<mpt, &mpt::pd, 0x123456u>);
  add("free_without_fast_registration", mailbox_with<mpt, &mpt::status, mpt_status::free>);
  to.push_back({opcode::hw2sw_mpt, "not_in_hardwares_hands", twice, false});
  for (const opcode o : {opcode::write_mtt, opcode::read_mtt}) {
    to.push_back({o, "no_entry", numbered<0>});
    to.push_back({o, "more_entries_than_a_mailbox_holds", numbered<511>});
  }
  using h = write_mtt_header;
  constexpr std::uint64_t end = std::uint64_t{1} << 40;
  to.push_back({opcode::write_mtt, "address_off_its_alignment",
                mailbox_with<h, &h::mtt_base_addr, 0x8004u>});
  to.push_back(
      {opcode::write_mtt, "address_past_the_end", mailbox_with<h, &h::mtt_base_addr, end>});
  to.push_back(
      {opcode::write_mtt, "table_not_lent", mailbox_with<h, &h::mtt_base_addr, no_translations>});
  const auto read = [&to](const char* how, std::uint64_t at) {
    to.push_back(
        {opcode::read_mtt, how, [at](w& world, call& c) { return world.issue(c.given(at)); }});
  };
  read("address_off_its_alignment", 0x8004);
  read("address_past_the_end", end);
  read("table_not_lent", no_translations);
}

}  // namespace

void add_object_wrongs(std::vector<wrong_call>& to) {
  add_event_queues(to);
  add_completion_queues(to);
  add_shared_queues(to);
  add_regions(to);
}

}  // namespace freehca::model::test
