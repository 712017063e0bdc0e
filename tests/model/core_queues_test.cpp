// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include "basis/adapter.hpp"
#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "test_driver.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::cq_arm;
using layouts::cqc;
using layouts::cqe;
using layouts::eqc;
using layouts::eqe;
using layouts::event_type;
using layouts::opcode;

/// With 32-byte entries, and with 64-byte entries.
struct core_queues : ::testing::TestWithParam<bool> {
  test_host host;
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
  test_driver::queue eq, cq;

  void SetUp() override {
    driver.large_entries = GetParam();
    ASSERT_TRUE(driver.bring_up());
    ASSERT_EQ(driver.make_eq(eq, 40, 3).status, command_status::ok);
    ASSERT_EQ(driver.make_cq(cq, 130, 40).status, command_status::ok);
    driver.ring_eq(eq, true);
  }
  bool complete(std::uint32_t wqe, bool solicited = false) {
    layouts::image<cqe> e;
    e.set<&cqe::wqe_index>(wqe & 0xffff).set<&cqe::is_send>(true);
    return hca.inside().cqs->complete(cq.number, e, solicited);
  }
  unsigned completion_events() {
    unsigned n = 0;
    for (layouts::image<eqe> e; driver.next_event(eq, e); ++n) {
      EXPECT_EQ(e.get<&eqe::event_type>(), event_type::completion);
      EXPECT_EQ(layouts::image<layouts::eqe_completion>::from_bytes(e.data())
                    .get<&layouts::eqe_completion::cqn>(),
                cq.number);
      ++cq.arm_sn;
    }
    driver.ring_eq(eq, true);
    return n;
  }
  /// An event queue whose context has this interrupt gets an event.
  void interrupt_by(unsigned intr) {
    test_driver::queue other;
    ASSERT_EQ(driver.make_eq(other, 41, intr).status, command_status::ok);
    ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 2, 41).status, command_status::ok);
    layouts::image<eqe> e;
    EXPECT_TRUE(hca.inside().eqs->post_asynchronous(event_type::communication_established, e));
  }
};

TEST_P(core_queues, a_new_queue_is_hardwares_whatever_stood_in_memory) {
  layouts::image<eqe> e;
  EXPECT_FALSE(driver.next_event(eq, e));
  layouts::image<cqe> c;
  EXPECT_FALSE(driver.next_completion(cq, c));
}

TEST_P(core_queues, completions_come_in_order_and_wrap) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(complete(i));
    layouts::image<cqe> e;
    ASSERT_TRUE(driver.next_completion(cq, e)) << i;
    EXPECT_EQ(e.get<&cqe::wqe_index>(), i & 0xffff);
    EXPECT_FALSE(driver.next_completion(cq, e));
    driver.tell_consumer(cq);
  }
  EXPECT_EQ(driver.counter_named("cqes"), 1000u);
  EXPECT_EQ(completion_events(), 0u);  // never armed
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_P(core_queues, an_armed_cq_tells_once) {
  driver.arm_cq(cq, cq_arm::next);
  EXPECT_TRUE(complete(1));
  EXPECT_TRUE(complete(2));
  EXPECT_EQ(completion_events(), 1u);
  EXPECT_EQ(host.messages, std::vector<unsigned>{3});
}

TEST_P(core_queues, halves_of_doorbells_in_two_pages_do_not_cut_each_other_off) {
  host.store(cq.doorbell_record, layouts::image<layouts::cq_doorbell_record>{}
                                     .set<&layouts::cq_doorbell_record::cmd>(cq_arm::next)
                                     .set<&layouts::cq_doorbell_record::cmd_sn>(cq.arm_sn & 3));
  layouts::image<layouts::cq_doorbell> d;
  d.set<&layouts::cq_doorbell::cmd>(cq_arm::next)
      .set<&layouts::cq_doorbell::cmd_sn>(cq.arm_sn & 3)
      .set<&layouts::cq_doorbell::cqn>(cq.number)
      .set<&layouts::cq_doorbell::ci>(cq.consumer & 0xffffff);
  const std::uint64_t page = std::uint64_t{test_driver::uar} * 4096 + layouts::uar::cq_doorbell;
  hca.write_uar(page, layouts::load_be<std::uint32_t>(d.data()), 4);
  hca.write_uar(page + 4096, 0, 4);
  hca.write_uar(page + 4, layouts::load_be<std::uint32_t>(d.data() + 4), 4);
  EXPECT_EQ(hca.complaints(), 0u);
  EXPECT_TRUE(complete(1));
  EXPECT_EQ(completion_events(), 1u);
}

TEST_P(core_queues, armed_for_solicited_waits_for_a_solicited_one_or_an_error) {
  driver.arm_cq(cq, cq_arm::solicited);
  EXPECT_TRUE(complete(1));
  EXPECT_EQ(completion_events(), 0u);
  EXPECT_TRUE(complete(2, true));
  EXPECT_EQ(completion_events(), 1u);
  layouts::image<cqe> e;
  while (driver.next_completion(cq, e)) {
  }
  driver.arm_cq(cq, cq_arm::solicited);
  e = {};
  e.set<&cqe::opcode>(static_cast<std::uint64_t>(layouts::cqe_opcode::error));
  EXPECT_TRUE(hca.inside().cqs->complete(cq.number, e, false));
  EXPECT_EQ(completion_events(), 1u);
}

// IBTA C11-31 and C11-32: of two outstanding requests the one for the next completion stands.
TEST_P(core_queues, a_request_for_the_next_completion_is_not_weakened) {
  driver.arm_cq(cq, cq_arm::next);
  driver.arm_cq(cq, cq_arm::solicited);
  driver.arm_cq(cq, cq_arm::solicited);
  EXPECT_TRUE(complete(1));
  EXPECT_EQ(completion_events(), 1u);
  // The event has answered both: what follows is the new request alone.
  layouts::image<cqe> e;
  ASSERT_TRUE(driver.next_completion(cq, e));
  driver.arm_cq(cq, cq_arm::solicited);
  EXPECT_TRUE(complete(2));
  EXPECT_EQ(completion_events(), 0u);
  // A stronger request takes its place, and is answered at once by what has come.
  driver.arm_cq(cq, cq_arm::next);
  EXPECT_EQ(completion_events(), 1u);
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_P(core_queues, what_came_between_poll_and_arm_is_told_at_once) {
  driver.arm_cq(cq, cq_arm::next);
  complete(1);
  EXPECT_EQ(completion_events(), 1u);
  layouts::image<cqe> e;
  ASSERT_TRUE(driver.next_completion(cq, e));
  complete(2);  // behind the host's back
  driver.arm_cq(cq, cq_arm::next);
  EXPECT_EQ(completion_events(), 1u);
}

TEST_P(core_queues, what_the_last_event_told_of_is_not_told_again) {
  driver.arm_cq(cq, cq_arm::next);
  complete(1);
  EXPECT_EQ(completion_events(), 1u);
  driver.arm_cq(cq, cq_arm::next);  // armed before polling
  EXPECT_EQ(completion_events(), 0u);
  complete(2);
  EXPECT_EQ(completion_events(), 1u);
}

TEST_P(core_queues, a_request_that_was_answered_is_stale) {
  driver.arm_cq(cq, cq_arm::next);
  complete(1);
  driver.arm_cq(cq, cq_arm::next);  // the same sequence number: its event is on the way
  complete(2);
  EXPECT_EQ(completion_events(), 1u);
}

TEST_P(core_queues, a_full_cq_fails_and_says_so) {
  ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 4, 40).status, command_status::ok);
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_TRUE(complete(i));
  EXPECT_FALSE(complete(64));
  EXPECT_FALSE(complete(65));
  layouts::image<eqe> e;
  ASSERT_TRUE(driver.next_event(eq, e));
  const auto error = layouts::image<layouts::eqe_cq_error>::from_bytes(e.data());
  EXPECT_EQ(error.get<&layouts::eqe_cq_error::event_type>(), event_type::cq_error);
  EXPECT_EQ(error.get<&layouts::eqe_cq_error::cqn>(), cq.number);
  EXPECT_EQ(error.get<&layouts::eqe_cq_error::syndrome>(), layouts::cq_error_syndrome::overrun);
  EXPECT_FALSE(driver.next_event(eq, e));
  layouts::image<cqc> context;
  ASSERT_EQ(driver.query(opcode::query_cq, context, cq.number).status, command_status::ok);
  EXPECT_EQ(context.get<&cqc::status>(), layouts::cq_status::overflow);
}

TEST_P(core_queues, moderation_by_count_and_by_time) {
  layouts::image<cqc> m;
  m.set<&cqc::cq_max_count>(4).set<&cqc::cq_period>(10);
  ASSERT_EQ(driver.command_with(opcode::modify_cq, m, cq.number, 1).status, command_status::ok);
  driver.arm_cq(cq, cq_arm::next);
  for (std::uint32_t i = 0; i < 3; ++i) complete(i);
  EXPECT_EQ(completion_events(), 0u);
  complete(3);
  EXPECT_EQ(completion_events(), 1u);
  layouts::image<cqe> e;
  while (driver.next_completion(cq, e)) {
  }
  driver.arm_cq(cq, cq_arm::next);
  complete(4);
  host.advance(9'999);
  EXPECT_EQ(completion_events(), 0u);
  host.advance(1);
  EXPECT_EQ(completion_events(), 1u);
}

TEST_P(core_queues, moderation_without_a_period_or_a_count_is_none) {
  constexpr struct {
    unsigned count, period;
  } settings[] = {{0, 0}, {1, 0}, {44, 0}, {1, 10}, {0, 10}};
  std::uint32_t done = 0;
  for (const auto& s : settings) {
    SCOPED_TRACE(testing::Message() << s.count << " completions, " << s.period << " us");
    layouts::image<cqc> m;
    m.set<&cqc::cq_max_count>(s.count).set<&cqc::cq_period>(s.period);
    ASSERT_EQ(driver.command_with(opcode::modify_cq, m, cq.number, 1).status, command_status::ok);
    driver.arm_cq(cq, cq_arm::next);
    complete(done++);
    EXPECT_EQ(completion_events(), 1u);
    layouts::image<cqe> e;
    while (driver.next_completion(cq, e)) {
    }
    driver.tell_consumer(cq);
  }
}

TEST_P(core_queues, a_cq_is_resized_with_entries_in_it) {
  // Past the first round, so that owner bits of the new buffer are put to the test.
  for (std::uint32_t i = 0; i < 150; ++i) {
    complete(i);
    layouts::image<cqe> e;
    if (i < 145) {
      ASSERT_TRUE(driver.next_completion(cq, e));
    }
    driver.tell_consumer(cq);
  }
  test_driver::queue larger = cq;
  larger.log_entries = 7;
  larger.where = driver.make_buffer(((std::size_t{1} << 7) * cq.stride + 4095) / 4096);
  ASSERT_EQ(
      driver.command_with(opcode::modify_cq, driver.cq_context(larger, 40), cq.number, 0).status,
      command_status::ok);
  complete(150);
  complete(151);
  layouts::image<cqe> e;
  for (std::uint32_t i = 145; i < 150; ++i) {
    ASSERT_TRUE(driver.next_completion(cq, e));
    EXPECT_EQ(e.get<&cqe::wqe_index>(), i);
  }
  ASSERT_TRUE(driver.next_completion(cq, e));
  EXPECT_EQ(e.get<&cqe::opcode>(), static_cast<std::uint64_t>(layouts::cqe_opcode::resize));
  larger.consumer = cq.consumer;
  for (std::uint32_t i = 150; i < 152; ++i) {
    ASSERT_TRUE(driver.next_completion(larger, e)) << i;
    EXPECT_EQ(e.get<&cqe::wqe_index>(), i);
  }
  EXPECT_FALSE(driver.next_completion(larger, e));
  driver.tell_consumer(larger);
  for (std::uint32_t i = 0; i < 300; ++i) {
    complete(i);
    ASSERT_TRUE(driver.next_completion(larger, e)) << i;
    driver.tell_consumer(larger);
  }
}

TEST_P(core_queues, a_cq_does_not_shrink_below_what_it_holds) {
  for (std::uint32_t i = 0; i < 20; ++i) complete(i);
  test_driver::queue smaller = cq;
  smaller.log_entries = 4;
  EXPECT_EQ(
      driver.command_with(opcode::modify_cq, driver.cq_context(smaller, 40), cq.number, 0).status,
      command_status::bad_size);
}

TEST_P(core_queues, a_cq_with_timestamps_stamps_its_entries_by_the_clock) {
  test_driver::queue stamped = cq;
  stamped.number = 140;
  auto context = driver.cq_context(stamped, 40);
  context.set<&cqc::timestamp>(true);
  ASSERT_EQ(driver.command_with(opcode::sw2hw_cq, context, 140).status, command_status::ok);
  host.advance(1'000'000'000);
  layouts::image<cqe> e;
  ASSERT_TRUE(hca.inside().cqs->complete(140, e, false));
  ASSERT_TRUE(driver.next_completion(stamped, e));
  const auto t = layouts::image<layouts::cqe_timestamp>::from_bytes(e.data());
  const std::uint64_t ticks = t.get<&layouts::cqe_timestamp::timestamp_47_16>() << 16 |
                              t.get<&layouts::cqe_timestamp::timestamp_15_0>();
  EXPECT_EQ(ticks, host.clock * 427 / 1000);
}

TEST_P(core_queues, numbers_owners_and_reserved_bits_of_cqs_are_checked) {
  const auto make = [this](std::uint32_t number, auto&& change) {
    auto c = driver.cq_context(cq, 40);
    change(c);
    return driver.command_with(opcode::sw2hw_cq, c, number).status;
  };
  EXPECT_EQ(make(130, [](auto&) {}), command_status::bad_resource_state);
  EXPECT_EQ(make(1u << driver.log_cqs, [](auto&) {}), command_status::bad_index);
  EXPECT_EQ(make(127, [](auto&) {}), command_status::bad_resource);
  EXPECT_EQ(make(131, [](auto& c) { c.template set<&cqc::comp_eqn>(41); }),
            command_status::bad_resource);
  EXPECT_EQ(make(131, [](auto& c) { c.template set<&cqc::log_cq_size>(23); }),
            command_status::bad_parameter);
  EXPECT_EQ(make(131, [](auto& c) { c.data()[0x3f] = std::byte{4}; }),
            command_status::bad_parameter);
  EXPECT_EQ(make(131, [](auto& c) { c.template set<&cqc::usr_page>(1024); }),
            command_status::bad_parameter);
  EXPECT_EQ(make(131, [](auto& c) { c.template set<&cqc::mtt_base_addr>(0x3000000); }),
            command_status::icm_error);
  EXPECT_EQ(make(131, [](auto&) {}), command_status::ok);
  EXPECT_EQ(driver.command(opcode::hw2sw_cq, 0, 131, 1).status, command_status::ok);
  EXPECT_EQ(driver.command(opcode::hw2sw_cq, 0, 131, 1).status, command_status::bad_resource_state);
  EXPECT_EQ(driver.command(opcode::query_cq, 0, 131, 0, driver.output).status,
            command_status::bad_resource_state);
  EXPECT_FALSE(hca.inside().cqs->exists(131));
}

TEST_P(core_queues, doorbells_of_strangers_are_complained_of) {
  cq.number = 200;
  driver.arm_cq(cq, cq_arm::next);
  EXPECT_EQ(hca.complaints(), 1u);
  test_driver::queue nobody;
  nobody.number = 50;
  driver.ring_eq(nobody, true);
  EXPECT_EQ(hca.complaints(), 2u);
  eq.consumer = 5;  // past the producer
  driver.ring_eq(eq, true);
  EXPECT_EQ(hca.complaints(), 3u);
}

TEST_P(core_queues, an_eq_interrupts_once_until_it_is_armed_again) {
  ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 2, 40).status, command_status::ok);
  layouts::image<layouts::eqe_qp> e;
  e.set<&layouts::eqe_qp::qpn>(77);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(hca.inside().eqs->post_asynchronous(event_type::communication_established, e));
  EXPECT_EQ(host.messages.size(), 1u);
  layouts::image<eqe> out;
  ASSERT_TRUE(driver.next_event(eq, out));
  driver.ring_eq(eq, true);  // two are unseen: interrupts at once
  EXPECT_EQ(host.messages.size(), 2u);
  while (driver.next_event(eq, out)) {
  }
  driver.ring_eq(eq, true);
  EXPECT_EQ(host.messages.size(), 2u);
}

TEST_P(core_queues, events_that_nobody_mapped_are_dropped) {
  layouts::image<eqe> e;
  EXPECT_FALSE(hca.inside().eqs->post_asynchronous(event_type::port_change, e));
  ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 9, 40).status, command_status::ok);
  EXPECT_TRUE(hca.inside().eqs->post_asynchronous(event_type::port_change, e));
  ASSERT_EQ(
      driver.command(opcode::map_eq, std::uint64_t{1} << 9, 40 | layouts::map_eq_unmap).status,
      command_status::ok);
  EXPECT_FALSE(hca.inside().eqs->post_asynchronous(event_type::port_change, e));
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_P(core_queues, a_full_eq_overflows) {
  test_driver::queue other;
  ASSERT_EQ(driver.make_eq(other, 41, 2).status, command_status::ok);
  ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 0xf, 41).status, command_status::ok);
  ASSERT_EQ(driver.command(opcode::map_eq, std::uint64_t{1} << 2, 40).status, command_status::ok);
  layouts::image<eqe> e;
  for (int i = 0; i < 64; ++i)
    ASSERT_TRUE(hca.inside().eqs->post_asynchronous(event_type::communication_established, e));
  EXPECT_FALSE(hca.inside().eqs->post_asynchronous(event_type::communication_established, e));
  layouts::image<eqc> context;
  ASSERT_EQ(driver.query(opcode::query_eq, context, 40).status, command_status::ok);
  EXPECT_EQ(context.get<&eqc::status>(), layouts::eq_status::overflow);
  ASSERT_TRUE(driver.next_event(other, e)) << "the other queue is told";
  EXPECT_EQ(e.get<&eqe::event_type>(), event_type::eq_overflow);
  EXPECT_EQ(hca.complaints(), 1u);
}

TEST_P(core_queues, without_msix_the_pin_is_asserted_until_it_is_cleared) {
  host.msix_on = false;
  interrupt_by(0);
  EXPECT_TRUE(host.intx_asserted);
  EXPECT_TRUE(host.messages.empty());
  driver.write(0xf0058 + 4, 1);  // as QUERY_FW and QUERY_ADAPTER tell
  EXPECT_FALSE(host.intx_asserted);
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_P(core_queues, without_msix_an_eq_of_another_pin_asserts_nothing) {
  host.msix_on = false;
  interrupt_by(1);
  EXPECT_FALSE(host.intx_asserted);
  EXPECT_EQ(hca.complaints(), 1u);
}

TEST_P(core_queues, numbers_owners_and_reserved_bits_of_eqs_are_checked) {
  const auto make = [this](std::uint32_t number, auto&& change) {
    auto c = driver.eq_context(eq, 0);
    change(c);
    return driver.command_with(opcode::sw2hw_eq, c, number).status;
  };
  EXPECT_EQ(make(40, [](auto&) {}), command_status::bad_resource_state);
  EXPECT_EQ(make(64, [](auto&) {}), command_status::bad_index);
  EXPECT_EQ(make(3, [](auto&) {}), command_status::bad_resource);
  EXPECT_EQ(make(41, [](auto& c) { c.template set<&eqc::intr>(128); }),
            command_status::bad_parameter);
  EXPECT_EQ(make(41, [](auto& c) { c.data()[0x3f] = std::byte{1}; }),
            command_status::bad_parameter);
  EXPECT_EQ(make(41, [](auto& c) { c.template set<&eqc::mtt_base_addr>(0x3000000); }),
            command_status::icm_error);
  EXPECT_EQ(driver.command(opcode::map_eq, 1, 41).status, command_status::bad_resource);
  EXPECT_EQ(make(41, [](auto&) {}), command_status::ok);
  EXPECT_EQ(driver.command(opcode::hw2sw_eq, 0, 41, 1).status, command_status::ok);
  EXPECT_EQ(driver.command(opcode::hw2sw_eq, 0, 41, 1).status, command_status::bad_resource_state);
}

TEST_P(core_queues, an_eq_that_is_taken_back_may_leave_its_context) {
  layouts::image<eqc> out;
  ASSERT_EQ(driver.query(opcode::hw2sw_eq, out, 40).status, command_status::ok);
  EXPECT_EQ(out.get<&eqc::mtt_base_addr>(), eq.where.mtt);
  EXPECT_EQ(driver.command(opcode::hw2sw_eq, 0, 40).status, command_status::bad_resource_state);
  // Nor need there be a mailbox.
  ASSERT_EQ(driver.make_eq(eq, 40, 1).status, command_status::ok);
  EXPECT_EQ(driver.command(opcode::hw2sw_eq, 0, 40).status, command_status::ok);
}

INSTANTIATE_TEST_SUITE_P(both_sizes, core_queues, ::testing::Bool(), [](const auto& with) {
  return with.param ? "of_64_bytes" : "of_32_bytes";
});

}  // namespace
}  // namespace freehca::model::test
