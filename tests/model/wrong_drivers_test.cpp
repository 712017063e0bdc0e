// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Drivers that are wrong in one thing: each is caught by the rule that names it, and goes uncaught
// without that rule.
#include <gtest/gtest.h>

#include <freehca/layouts/headers.hpp>

#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "wrong_driver_world.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr auto send = wqe_opcode::send;

struct wrong_driver {
  const char* name;
  rule by;
  /// What it does; whether it gets what it wanted.
  bool (*goes)(world& w);
};
// GoogleTest finds it by this name. NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const wrong_driver& d, std::ostream* out) {
  *out << d.name;
}

// Without a rule the wrong driver gets what it wanted where the adapter can give it at all.
const wrong_driver drivers[] = {
    {"reads_a_register_off_its_alignment", rule::register_access,
     [](world& w) {
       w.hca->read_registers(bar0::hcr + 2, 4);
       return true;
     }},
    {"writes_where_no_register_is", rule::register_place,
     [](world& w) {
       w.driver->write(4, 1);
       return true;
     }},
    {"resets_with_another_value", rule::reset_value,
     [](world& w) {
       w.driver->write(bar0::reset, 2);
       return true;
     }},
    {"writes_the_command_register_while_GO_is_set", rule::command_register_busy,
     [](world& w) {
       w.driver->post(opcode::nop, 0, 0, 0, 0, polled_token, false);
       w.driver->write(bar0::hcr, 0);
       w.host->run();
       return !w.driver->go();
     }},
    {"writes_the_command_register_by_64_bits", rule::command_register_words,
     [](world& w) {
       w.hca->write_registers(bar0::hcr, 0, 8);
       return true;
     }},
    {"forgets_GO", rule::command_go,
     [](world& w) {
       w.driver->write(bar0::hcr_status, static_cast<std::uint32_t>(opcode::nop));
       return true;
     }},
    {"leaves_the_toggle_as_it_was", rule::command_toggle,
     [](world& w) {
       w.driver->command(opcode::nop);
       const bool last = w.driver->command_register().get<&hcr::t>();
       w.write_command(world::none, last);
       w.host->run();
       return !w.driver->go();
     }},
    {"waits_for_an_event_that_no_queue_takes", rule::completion_by_event,
     [](world& w) {
       w.driver->post(opcode::nop, 0, 0, 0, 0, 7, true);
       w.host->run();
       return true;
     }},
    {"sends_a_command_that_there_is_not", rule::known_command,
     [](world& w) {
       w.driver->command(static_cast<opcode>(0x1ee));
       return true;
     }},
    {"gives_a_command_a_modifier_that_it_has_not", rule::opcode_modifier,
     [](world& w) { return w.driver->command(opcode::nop, 0, 0, 3).status == command_status::ok; }},
    {"asks_for_capabilities_before_RUN_FW", rule::system_state,
     [](world& w) {
       w.hca->reset();
       w.driver->command(opcode::query_dev_cap, 0, 0, 0, w.driver->output);
       return true;
     }},
    {"puts_a_mailbox_off_its_alignment", rule::mailbox_alignment,
     [](world& w) {
       return w.driver->command(opcode::query_fw, 0, 0, 0, w.driver->output + 8).status ==
              command_status::ok;
     }},
    {"rings_by_two_bytes", rule::uar_access,
     [](world& w) {
       w.hca->write_uar(world::page + uar::send_doorbell, 0, 2);
       return true;
     }},
    {"rings_before_INIT_HCA", rule::uar_before_init_hca,
     [](world& w) {
       w.hca->reset();
       w.ring(w.a);
       return true;
     }},
    {"rings_where_no_doorbell_is", rule::uar_place,
     [](world& w) {
       w.hca->write_uar(world::page + 0x100, 0, 4);
       return true;
     }},
    {"writes_the_second_half_of_a_doorbell_alone", rule::cq_doorbell_halves,
     [](world& w) {
       w.hca->write_uar(world::page + uar::cq_doorbell + 4, 0, 4);
       return true;
     }},
    {"rings_in_the_UAR_page_of_another", rule::doorbell_of_own_uar,
     [](world& w) {
       w.post_send(w.a, w.small());
       w.ring_in_page(test_driver::uar + 1);
       return w.completed();
     }},
    {"arms_in_the_UAR_page_of_another", rule::doorbell_of_own_uar,
     [](world& w) {
       w.arm_record(cq_arm::next, 1, 0);
       w.cq_doorbell_in_page(world::page + 4096, cq_arm::next, 1, 0);
       w.send_one();
       return w.events(event_type::completion) == 1;
     }},
    {"rings_in_a_UAR_page_of_the_firmware", rule::uar_reserved,
     [](world& w) {
       const test_qp q = w.make_qp(0x110);
       auto first = w.first_context(q);
       first.set<&qpc::usr_page>(3);
       w.modify(opcode::rst2init_qp, q.number, first);
       w.hca->write_uar(3 * 4096 + uar::send_doorbell, send_doorbell_word(q.number), 4);
       return true;
     }},
    {"rings_for_an_event_queue_that_it_has_not", rule::eq_doorbell_owner,
     [](world& w) {
       w.hca->write_uar(uar::eq_doorbell_of(33), 0x80000000, 4);
       return true;
     }},
    {"consumes_events_that_have_not_come", rule::eq_consumer_index,
     [](world& w) {
       w.eq.consumer += 5;
       w.driver->ring_eq(w.eq, true);
       return true;
     }},
    {"forgets_to_consume_events", rule::eq_has_room,
     [](world& w) {
       for (int i = 0; i < 70; ++i)
         w.hca->inside_now().eqs->post_asynchronous(event_type::communication_established, {});
       return true;
     }},
    {"rings_for_a_completion_queue_that_it_has_not", rule::cq_doorbell_owner,
     [](world& w) {
       test_driver::queue q = w.cq;
       q.number = 333;
       w.driver->arm_cq(q, cq_arm::next);
       return true;
     }},
    {"consumes_completions_that_have_not_come", rule::cq_consumer_index,
     [](world& w) {
       w.cq.consumer += 5;
       w.driver->arm_cq(w.cq, cq_arm::next);
       return true;
     }},
    {"rings_in_the_reset_state", rule::send_doorbell_state,
     [](world& w) {
       w.hca->write_uar(world::page + uar::send_doorbell, send_doorbell_word(0x120), 4);
       return true;
     }},
    {"forgets_the_doorbell", rule::send_doorbell_rung,
     [](world& w) {
       if (!w.works()) return false;
       w.post_send(w.a, w.small());
       w.host->run();
       return w.driver->command(opcode::to_rst_qp, 0, w.a.number, 3).status == command_status::ok;
     }},
    {"rings_before_the_entry_is_written", rule::send_doorbell_entry,
     [](world& w) {
       w.ring(w.a);
       w.host->run();
       w.post_send(w.a, w.small());
       w.host->advance(3'000'000);
       return w.completed();
     }},
    {"turns_the_owner_bit_the_wrong_way", rule::send_doorbell_entry,
     [](world& w) {
       w.post_send(w.a, w.small());
       w.change<&wqe_ctrl::owner>(0, true);
       w.ring(w.a);
       w.host->advance(20'000'000);
       return w.completed();
     }},
    {"uses_entries_again_without_a_completion", rule::send_entry_free,
     [](world& w) {
       test_send s = w.small();
       for (std::uint32_t i = 0; i < test_qp::entries + 1; ++i) {
         s.signaled = i == test_qp::entries;
         w.send(w.a, s);
         w.host->run();
       }
       return w.completed();
     }},
    {"writes_over_an_entry_under_way", rule::send_entry_kept,
     [](world& w) {
       w.send(w.a, w.transfer(send, 64, world::from, 0));
       w.host->run();  // it waits for a receive
       w.change<&wqe_ctrl::immediate>(0, 99u);
       w.post_receive(w.b, world::to, 64, w.key);
       w.host->advance(100'000'000);
       return w.completed();
     }},
    {"writes_the_first_word_of_a_block_before_the_rest", rule::prefetched_stale,
     [](world& w) { return w.write_first_word_first(world::from + 0x4000, world::from + 0x8000); }},
    {"gives_an_entry_away_before_it_is_whole", rule::prefetched_stale,
     [](world& w) { return w.give_away_early(world::from + 0x4000, world::from + 0x8000); }},
    {"leaves_a_send_queue_no_headroom", rule::prefetched_stale,
     [](world& w) { return w.use_every_entry(world::from + 0x4000, world::from + 0x8000); }},
    {"writes_half_a_request_to_BlueFlame", rule::blueflame_whole,
     [](world& w) {
       w.post_send(w.a, w.small());
       w.blueflame(0, 0, 16);
       w.host->advance(limits::blueflame_patience);
       const bool did = w.completed();
       w.post_send(w.a, w.small());
       w.blueflame(1, 1, 64);
       return w.completed() && did;
     }},
    {"writes_to_BlueFlame_what_the_ring_has_not", rule::blueflame_as_in_ring,
     [](world& w) {
       w.post_send(w.a, w.small());
       w.blueflame(0, 0, 64, [](std::byte* copy) { copy[40] ^= std::byte{1}; });
       return w.completed();
     }},
    {"writes_to_the_same_half_of_BlueFlame_again", rule::blueflame_half,
     [](world& w) {
       w.post_send(w.a, w.small());
       w.blueflame(0, 0, 64);
       const bool did = w.completed();
       w.post_send(w.a, w.small());
       w.blueflame(1, 0, 64);
       return w.completed() && did;
     }},
    {"lets_an_inline_segment_cross_a_block", rule::inline_segment,
     [](world& w) {
       w.post_receive(w.b, world::to, 64, w.key);
       w.post_send(w.a, w.transfer(send, 64, world::from, 0));
       w.put(w.a, 16,
             image<wqe_inline>{}.set<&wqe_inline::inline_data>(true).set<&wqe_inline::byte_count>(
                 60));
       w.change<&wqe_ctrl::ds>(0, 5u);
       w.ring(w.a);
       return w.completed();
     }},
    {"invalidates_a_key_out_of_order", rule::strong_order,
     [](world& w) {
       w.post_send(w.a, w.transfer(wqe_opcode::local_invalidate, 0, 0, 0));
       w.change<&wqe_ctrl::ds>(0, 3u);
       w.ring(w.a);
       w.host->run();
       return true;
     }},
    {"takes_the_address_of_another_domain", rule::address_domain,
     [](world& w) {
       test_qp q = w.make_qp(0x112, qp_service::ud);
       w.to_rts(q, 0);
       test_send s = w.transfer(send, 64, world::from, 0);
       s.dqpn = q.number;
       s.qkey = world::qkey;
       w.post_receive(q, world::to, 256, w.key);
       w.post_send(q, s);
       using d = wqe_datagram;
       auto v = image<d>::from_bytes(w.driver->bytes_of(q.ring, wqe_ctrl::bytes));
       w.put(q, wqe_ctrl::bytes, v.set<&d::pd>(world::pd + 1));
       w.ring(q);
       return w.completed();
     }},
    {"names_another_LID_than_its_headers", rule::mlx_rlid,
     [](world& w) {
       return w.send_prepared([](auto& c, auto&) {
         c.template set<&wqe_ctrl_mlx::rlid>(c.template get<&wqe_ctrl_mlx::rlid>() + 1);
       });
     }},
    {"names_another_service_level_than_its_headers", rule::mlx_sl,
     [](world& w) {
       return w.send_prepared([](auto&, auto& l) { l.template set<&lrh::service_level>(3); });
     }},
    {"sends_a_general_management_packet_by_lane_15", rule::mlx_vl15,
     [](world& w) {
       return w.send_prepared([](auto& c, auto&) { c.template set<&wqe_ctrl_mlx::vl15>(true); });
     }},
    {"brings_a_wrong_invariant_CRC", rule::mlx_icrc,
     [](world& w) {
       return w.send_prepared([](auto& c, auto&) { c.template set<&wqe_ctrl_mlx::icrc>(true); });
     }},
    {"announces_another_length_than_it_sends", rule::mlx_headers,
     [](world& w) {
       w.send_prepared([](auto&, auto& l) { l.template set<&lrh::packet_length>(40); });
       return true;
     }},
    {"links_a_shared_receive_past_its_queue", rule::receive_chain,
     [](world& w) {
       w.follow_link(test_srq::entries);
       return true;
     }},
    {"links_a_shared_receive_to_itself", rule::receive_chain,
     [](world& w) { return w.follow_link(0); }},
    {"counts_more_receives_than_the_queue_holds", rule::receive_record,
     [](world& w) {
       w.b.received = 100;
       w.post_receive(w.b, world::to, 64, w.key);
       w.send(w.a, w.transfer(send, 64, world::from, 0));
       w.host->run();
       return true;
     }},
    {"posts_an_inline_receive", rule::receive_segments,
     [](world& w) {
       w.post_receive(w.b, world::to, 64, w.key);
       w.put(w.b, std::size_t{test_qp::entries} * test_qp::stride,
             w.data_segment(world::to, 64, w.key).set<&wqe_data::inline_data>(true));
       w.send(w.a, w.transfer(send, 64, world::from, 0));
       w.host->run();
       return true;
     }},
    {"takes_the_doorbell_record_away", rule::receive_queue,
     [](world& w) {
       w.host->refuse(w.b.record, 4);
       w.send(w.a, w.transfer(send, 64, world::from, 0));
       w.host->run();
       return true;
     }},
    {"forgets_the_arm_record", rule::cq_arm_record,
     [](world& w) {
       w.cq_doorbell_in_page(world::page, cq_arm::next, 1, 0);
       w.send_one();
       return w.events(event_type::completion) == 1;
     }},
    {"writes_the_arm_record_behind_the_doorbell", rule::cq_arm_record,
     [](world& w) {
       w.cq_doorbell_in_page(world::page, cq_arm::next, 1, 0);
       w.arm_record(cq_arm::next, 1, 0);
       w.send_one();
       return w.events(event_type::completion) == 1;
     }},
    {"arms_with_a_number_of_its_own", rule::cq_arm_number,
     [](world& w) {
       w.cq.arm_sn = 3;
       w.driver->arm_cq(w.cq, cq_arm::next);
       w.send_one();
       return w.events(event_type::completion) == 1;
     }},
    {"forgets_to_count_its_events", rule::cq_arm_number,
     [](world& w) {
       w.cq.arm_sn = 0;
       w.driver->arm_cq(w.cq, cq_arm::next);
       w.send_one();
       return w.events(event_type::completion) == 1;
     }},
    {"forgets_to_tell_its_consumer_index", rule::cq_has_room,
     [](world& w) {
       const test_driver::queue q = w.small_cq();
       bool all = true;
       for (int i = 0; i < 65; ++i) all = w.complete(q) && all;
       return all;
     }},
    {"consumes_in_its_record_what_has_not_come", rule::cq_record,
     [](world& w) {
       const test_driver::queue q = w.small_cq();
       for (int i = 0; i < 64; ++i) w.complete(q);
       w.host->store(q.doorbell_record,
                     image<cq_doorbell_record>{}.set<&cq_doorbell_record::update_ci>(70));
       return w.complete(q);
     }},
    {"takes_the_buffer_of_a_completion_queue_away", rule::cq_reachable,
     [](world& w) {
       for (const std::uint64_t page : w.cq.where.pages) w.host->refuse(page, 4096);
       w.send_one();
       w.host->run();
       return true;
     }},
    {"takes_a_completion_queue_from_its_queue_pairs", rule::cq_in_use,
     [](world& w) {
       return w.driver->command(opcode::hw2sw_cq, 0, w.cq.number, 1).status == command_status::ok;
     }},
    {"takes_a_region_from_a_send_under_way", rule::region_in_use,
     [](world& w) {
       w.send(w.a, w.transfer(send, 64, world::from, 0));
       w.host->run();  // it waits for a receive
       return w.driver->command(opcode::hw2sw_mpt, 0, w.region(), 1).status == command_status::ok;
     }},
    {"takes_the_event_queue_from_a_completion_queue", rule::cq_reports_to_eq,
     [](world& w) {
       w.driver->arm_cq(w.cq, cq_arm::next);
       w.driver->command(opcode::hw2sw_eq, 0, w.eqn, 1);
       return w.works();
     }},
    {"makes_a_queue_pair_for_RSS", rule::rss_reported,
     [](world& w) {
       const test_qp q = w.make_qp(0x111);
       return w.modify(opcode::rst2init_qp, q.number, w.first_context(q).set<&qpc::rss>(true)) ==
              command_status::ok;
     }},
};
static_assert(std::size(drivers) >= 40);

class wrong_drivers : public testing::TestWithParam<wrong_driver> {
 protected:
  /// Rules that were broken, of all remarks; the text of the remarks.
  void look_at(world& w) {
    for (const remark& r : w.host->remarks)
      if (r.rule[0] != '\0') {
        broken.push_back(r.rule);
        text += r.text + "\n";
      }
  }
  std::vector<std::string> broken;
  std::string text;
};

TEST_P(wrong_drivers, are_caught_by_the_rule_that_names_it) {
  world w;
  if (HasFatalFailure()) return;
  w.host->remarks.clear();
  GetParam().goes(w);
  look_at(w);
  const std::string name(entry_of(GetParam().by).name);
  ASSERT_FALSE(broken.empty());
  for (const std::string& b : broken) EXPECT_EQ(b, name) << text;
  EXPECT_NE(text.find(entry_of(GetParam().by).demand), std::string::npos) << text;
}

TEST_P(wrong_drivers, pass_without_that_rule) {
  world w;
  if (HasFatalFailure()) return;
  rule_set off;
  off.add(GetParam().by);
  w.hca->set_rules_off(off);
  w.host->remarks.clear();
  EXPECT_TRUE(GetParam().goes(w));
  for (const remark& r : w.host->remarks)
    if (r.kind == remark_kind::complaint || r.kind == remark_kind::refused) {
      EXPECT_STREQ(r.rule, "") << r.text;
    }
  EXPECT_EQ(w.hca->complaints(), 0u);
}

INSTANTIATE_TEST_SUITE_P(every, wrong_drivers, testing::ValuesIn(drivers),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(right_driver, takes_a_region_back_when_no_request_that_works_names_it) {
  world w;
  ASSERT_TRUE(w.works());
  // Another region's request is under way.
  const auto other = w.driver->make_region(301, world::pd, w.driver->make_buffer(1), 0x1000, 4096);
  test_send s = w.transfer(send, 64, 0x1000, 0);
  s.lkey = other;
  w.send(w.a, s);
  w.host->run();
  EXPECT_EQ(w.driver->command(opcode::hw2sw_mpt, 0, w.region(), 1).status, command_status::ok);
  EXPECT_EQ(w.hca->complaints(), 0u);
  // What names this one is flushed.
  EXPECT_EQ(w.driver->command(opcode::to_err_qp, 0, w.a.number).status, command_status::ok);
  EXPECT_EQ(w.driver->command(opcode::hw2sw_mpt, 0, 301, 1).status, command_status::ok);
  EXPECT_EQ(w.hca->complaints(), 0u);
}

TEST(right_driver, that_died_with_requests_under_way_is_not_blamed_for_receives) {
  world w;
  w.send(w.a, w.transfer(send, 64, world::from, 0));
  w.host->run();  // it waits for a receive, and is repeated
  const std::size_t remarks = w.host->remarks.size();
  w.host->bus_master_on = false;
  w.host->advance(1'000'000'000);
  EXPECT_GT(w.host->remarks.size(), remarks) << "nothing looked at the receive queue";
  EXPECT_EQ(w.hca->complaints(), 0u);
}

TEST(right_driver, is_ahead_of_as_many_doorbells_as_may_be_under_way) {
  for (const unsigned under_way : {1u, 3u}) {
    options how = test_options();
    how.doorbells_under_way = under_way;
    world w(how);
    for (unsigned i = 0; i < 4; ++i) w.post_send(w.a, w.small());
    for (unsigned rung = 0; rung < 1 + under_way; ++rung) {
      w.ring(w.a);
      w.host->run();
      EXPECT_EQ(w.hca->complaints(), 0u) << rung;
    }
    w.ring(w.a);
    w.host->run();
    EXPECT_EQ(w.hca->complaints(), 1u) << under_way;
  }
}

TEST(right_driver, breaks_no_rule) {
  world w;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(w.works());
  w.post_send(w.a, w.small());
  w.blueflame(200, 0, 64);
  EXPECT_TRUE(w.completed());
  w.post_send(w.a, w.small());
  w.blueflame(201, 1, 64);
  EXPECT_TRUE(w.completed());
  w.driver->arm_cq(w.cq, cq_arm::next);
  w.send_one();
  EXPECT_EQ(w.events(event_type::completion), 1u);
  EXPECT_EQ(w.hca->complaints(), 0u);
  for (const remark& r : w.host->remarks) EXPECT_STREQ(r.rule, "") << r.text;
}

}  // namespace
}  // namespace freehca::model::test
