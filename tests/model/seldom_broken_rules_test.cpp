// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Rules that no driver is known to break and no other table of tests has: each is broken here, and
// the answer names it. Counters that only such cases raise.
#include <freehca/layouts/flash.hpp>

#include "cabled_fixture.hpp"
#include "memory_fixture.hpp"
#include "queues/completion_queues.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class seldom_broken : public memory_fixture {
 protected:
  /// The rule that the last remark names.
  std::string rule_told() { return host->remarks.empty() ? "" : host->remarks.back().rule; }
  bool complete(std::uint32_t wqe) {
    image<cqe> e;
    e.set<&cqe::wqe_index>(wqe).set<&cqe::is_send>(true);
    return hca->inside_now().cqs->complete(small.number, e, false);
  }
  void make_small() { ASSERT_EQ(driver->make_cq(small, 210, eqn, 6).status, command_status::ok); }
  command_status resize(unsigned log_entries) {
    test_driver::queue other = small;
    other.log_entries = log_entries;
    other.where =
        driver->make_buffer(((std::size_t{1} << log_entries) * small.stride + 4095) / 4096);
    return driver->command_with(opcode::modify_cq, driver->cq_context(other, eqn), small.number, 0)
        .status;
  }

  test_driver::queue small;
};

}  // namespace

TEST_F(seldom_broken, cq_has_no_error__when_it_is_resized_after_an_overrun) {
  make_small();
  EXPECT_EQ(driver->counter_named("cq_overruns"), 0u);
  for (std::uint32_t i = 0; i < 65; ++i) complete(i);
  EXPECT_EQ(driver->counter_named("cq_overruns"), 1u);
  EXPECT_FALSE(complete(66));
  EXPECT_EQ(driver->counter_named("cq_overruns"), 1u) << "a queue in error overruns no more";
  EXPECT_EQ(resize(8), command_status::bad_resource_state);
  EXPECT_EQ(rule_told(), "cq-has-no-error");
  EXPECT_NE(host->remarks.back().text.find("status 0x9 of CQ"), std::string::npos)
      << host->remarks.back().text;
}

TEST_F(seldom_broken, cq_has_no_error__when_the_entry_of_a_resize_finds_it_full) {
  make_small();
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_TRUE(complete(i));
  EXPECT_EQ(resize(8), command_status::bad_resource_state);
  EXPECT_EQ(rule_told(), "cq-has-no-error");
  EXPECT_EQ(driver->counter_named("cq_overruns"), 1u);
}

TEST_F(seldom_broken, record_readable__when_a_completion_queue_is_resized) {
  make_small();
  host->refuse(small.doorbell_record, cq_doorbell_record::bytes);
  EXPECT_EQ(resize(8), command_status::internal_error);
  EXPECT_EQ(rule_told(), "record-readable");
}

TEST_F(seldom_broken, window_form__in_every_field_that_a_window_does_not_have) {
  const auto expect_refused = [this](const image<mpt>& e, const char* what) {
    EXPECT_EQ(own(window_index, e), command_status::bad_parameter) << what;
    EXPECT_EQ(rule_told(), "window-form") << what;
  };
  for (const bool type_2 : {false, true}) {
    const image<mpt> good = window_context(type_2);
    const auto with = [&good](auto change) {
      image<mpt> e = good;
      change(e);
      return e;
    };
    expect_refused(with([&](image<mpt>& e) { e.set<&mpt::bqp>(!type_2); }), "bqp");
    expect_refused(with([](image<mpt>& e) { e.set<&mpt::qpn>(1); }), "qpn");
    expect_refused(with([](image<mpt>& e) { e.set<&mpt::fast_register_enable>(true); }),
                   "fast_register_enable");
    expect_refused(with([](image<mpt>& e) { e.set<&mpt::physical>(true); }), "physical");
    EXPECT_EQ(own(window_index, good), command_status::ok);
    EXPECT_EQ(disown(window_index), command_status::ok);
  }
}

TEST(seldom_broken_by_an_adapter, blueflame_offered__when_it_has_none) {
  options how = test_options();
  how.without.add(capability::blueflame);
  test_host host;
  device hca{host, how};
  test_driver driver{host, hca};
  host.attach(hca);
  ASSERT_TRUE(driver.bring_up());
  hca.write_uar(how.uar_bar_bytes / 2, 0, 8);
  ASSERT_EQ(hca.complaints(), 1u);
  EXPECT_STREQ(host.remarks.back().rule, "blueflame-offered");
  EXPECT_EQ(driver.counter_named("blueflame_writes"), 0u);
}

TEST(seldom_broken_by_an_adapter, packet_has_transport__when_it_is_sent) {
  options how = test_options();
  how.cable[0] = true;
  station s(how);
  s.open();
  // An LRH that says that a BTH follows, and no BTH.
  using l = lrh;
  const auto head = image<l>{}.set<&l::lnh>(link_next_header::iba_local).set<&l::packet_length>(2);
  packet p;
  p.bytes.assign(head.data(), head.data() + l::bytes);
  const std::uint64_t sent = s.driver->counter_named("port1_packets_sent");
  s.links().transmit(1, std::move(p));
  ASSERT_EQ(s.hca->complaints(), 1u);
  EXPECT_STREQ(s.host->remarks.back().rule, "packet-has-transport");
  EXPECT_EQ(s.driver->counter_named("port1_packets_sent"), sent);
}

TEST(flash_transfers, are_counted) {
  test_host host;
  const options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
  const auto transfer = [&](unsigned log_bytes) {
    const auto c = image<flash_command>{}
                       .set<&flash_command::busy>(true)
                       .set<&flash_command::opcode>(static_cast<unsigned>(spi_opcode::read))
                       .set<&flash_command::enable>(true)
                       .set<&flash_command::log_data>(log_bytes)
                       .set<&flash_command::data_phase>(true)
                       .set<&flash_command::opcode_phase>(true)
                       .set<&flash_command::address_phase>(true)
                       .set<&flash_command::read>(true);
    driver.write(flash_gateway::address, 0);
    driver.write(flash_gateway::command, load_be<std::uint32_t>(c.data()));
  };
  EXPECT_EQ(driver.counter_named("flash_transfers"), 0u);
  transfer(2);
  EXPECT_EQ(driver.counter_named("flash_transfers"), 1u);
  transfer(4);
  EXPECT_EQ(driver.counter_named("flash_transfers"), 2u);
  driver.read(flash_gateway::data);
  EXPECT_EQ(driver.counter_named("flash_transfers"), 2u) << "a read of a register is none";
}

}  // namespace freehca::model::test
