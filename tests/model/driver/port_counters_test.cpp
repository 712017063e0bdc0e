// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The counters of an InfiniBand port, read through the firmware's performance agent.
#include <cstring>
#include <memory>

#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/hca/port_counters.hpp>

#include "device_rig.hpp"

namespace freehca::testing {
namespace {

using wide = layouts::port_counters_ext;

class port_counters_test : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  }
  void TearDown() override {
    rig.machine.adapter().judge_commands({});
    EXPECT_TRUE(rig.tear_down().ok());
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  }
  /// Sets the counters of 64 bits by the datagram that a manager would send.
  void set(unsigned port, const layouts::image<wide>& to) {
    using l = layouts::pma_mad;
    firmware_command<commands::mad_ifc<l>> c{
        std::uint32_t{port},
        static_cast<std::uint32_t>(layouts::mad_ifc_modifier::ignore_mkey) |
            static_cast<std::uint32_t>(layouts::mad_ifc_modifier::ignore_bkey)};
    std::byte data[192] = {};
    std::memcpy(data, to.data(), to.size());
    c.input.set<&l::base_version>(layouts::mad_base_version)
        .set<&l::mgmt_class>(layouts::mad_class::performance)
        .set<&l::class_version>(1)
        .set<&l::method>(layouts::mad_method::set)
        .set<&l::attribute_id>(static_cast<unsigned>(layouts::pma_attribute::port_counters_ext))
        .set_bytes<&l::data>(data);
    rig.adapter.commands().submit(c);
    ASSERT_TRUE(rig.await(c).ok());
  }
  device_rig rig;
};

TEST_F(port_counters_test, of_64_bits_are_read) {
  constexpr std::uint64_t sent = 0x1'2345'6789, received = 0x2'0000'0000, packets = 0x3'0000'0001;
  set(2, layouts::image<wide>{}
             .set<&wide::port_select>(2)
             .set<&wide::counter_select>(0xf)
             .set<&wide::xmit_data>(sent)
             .set<&wide::rcv_data>(received)
             .set<&wide::xmit_packets>(packets)
             .set<&wide::rcv_packets>(7));
  port_counters_query q;
  q.start(rig.adapter.commands(), 2);
  ASSERT_TRUE(rig.await(q).ok());
  EXPECT_TRUE(q.counters().wide);
  EXPECT_EQ(q.counters().xmit_data, sent);
  EXPECT_EQ(q.counters().rcv_data, received);
  EXPECT_EQ(q.counters().xmit_packets, packets);
  EXPECT_EQ(q.counters().rcv_packets, 7u);
  ASSERT_TRUE(q.restart());
  q.start(rig.adapter.commands(), 1);
  ASSERT_TRUE(rig.await(q).ok());
  EXPECT_LT(q.counters().xmit_data, sent) << "of another port";
}

TEST_F(port_counters_test, of_a_port_that_does_not_exist_are_refused) {
  for (const unsigned port : {0u, 3u, 255u}) {
    port_counters_query q;
    q.start(rig.adapter.commands(), port);
    EXPECT_FALSE(rig.await(q).ok()) << port;
  }
}

TEST_F(port_counters_test, are_not_read_by_a_command_that_the_firmware_refuses) {
  unsigned asked = 0;
  rig.machine.adapter().judge_commands(
      [&asked](layouts::opcode o, std::uint32_t) -> model::command_verdict {
        if (o != layouts::opcode::mad_ifc) return {};
        ++asked;
        return {model::command_verdict::fate::refuse, layouts::command_status::internal_error};
      });
  port_counters_query q;
  q.start(rig.adapter.commands(), 1);
  EXPECT_TRUE(rig.await(q).is(layouts::command_status::internal_error));
  EXPECT_EQ(asked, 1u) << "a refused command is no refused attribute";
}

TEST_F(port_counters_test, of_32_bits_are_read_where_those_of_64_are_refused) {
  // The agent's refusal is written into the answer before the driver sees it.
  bool refused = false;
  std::uint64_t last_mailbox = 0;
  rig.machine.on_adapter_write = [&](std::uint64_t address, std::size_t) {
    using l = layouts::pma_mad;
    if (last_mailbox != 0 && !refused) {
      std::byte* const at = rig.machine.memory().find(last_mailbox, l::bytes);
      auto mad = layouts::image<l>::from_bytes(at);
      if (mad.get<&l::mgmt_class>() == layouts::mad_class::performance) {
        mad.set<&l::status>(layouts::mad_status::unsupported_method_attribute);
        std::memcpy(at, mad.data(), mad.size());
        refused = true;
      }
    }
    if (address % 4096 == 0) last_mailbox = address;
  };
  port_counters_query q;
  q.start(rig.adapter.commands(), 1);
  const status s = rig.await(q);
  rig.machine.on_adapter_write = {};
  ASSERT_TRUE(s.ok()) << words(s);
  EXPECT_TRUE(refused);
  EXPECT_FALSE(q.counters().wide);
}

/// Both commands are answered before the driver looks. The callback of the first one ends the
/// query, whose attribute the agent has refused.
class ended_early : public port_counters_test, public ::testing::WithParamInterface<bool> {};

TEST_P(ended_early, the_query_does_not_ask_for_the_other_attribute) {
  unsigned asked = 0;
  rig.machine.adapter().judge_commands(
      [&asked](layouts::opcode o, std::uint32_t) -> model::command_verdict {
        if (o == layouts::opcode::mad_ifc) ++asked;
        return {};
      });
  rig.machine.alter_adapter_write = [](std::uint64_t, std::byte* at, std::size_t bytes) {
    using l = layouts::pma_mad;
    if (bytes < l::bytes) return;
    auto mad = layouts::image<l>::from_bytes(at);
    if (mad.get<&l::mgmt_class>() != layouts::mad_class::performance) return;
    mad.set<&l::status>(layouts::mad_status::unsupported_method_attribute);
    std::memcpy(at, mad.data(), mad.size());
  };
  struct pair {
    firmware_command<commands::nop> first;
    std::unique_ptr<port_counters_query> query = std::make_unique<port_counters_query>();
    status outcome;
    unsigned ends = 0;
  } both;
  both.first.then(
      [](operation&, void* p) noexcept {
        auto& of = *static_cast<pair*>(p);
        if (GetParam()) of.query.reset();
        else of.query->cancel();
      },
      &both);
  both.query->then(
      [](operation& op, void* p) noexcept {
        static_cast<pair*>(p)->outcome = op.outcome();
        ++static_cast<pair*>(p)->ends;
      },
      &both);
  rig.adapter.commands().submit(both.first);
  both.query->start(rig.adapter.commands(), 1);
  rig.adapter.poll();
  rig.machine.run([] { return false; }, [] { return clock::never; }, clock::milliseconds(10));
  EXPECT_EQ(asked, 1u);
  rig.run_for(clock::milliseconds(100));
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(both.ends, GetParam() ? 0u : 1u);
  if (!GetParam()) {
    EXPECT_TRUE(both.outcome.is(driver_error::cancelled)) << words(both.outcome);
  }
  rig.machine.alter_adapter_write = {};
}

INSTANTIATE_TEST_SUITE_P(by, ended_early, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "destruction" : "cancel"; });

TEST_F(port_counters_test, may_be_cancelled) {
  port_counters_query q;
  q.start(rig.adapter.commands(), 1);
  q.cancel();
  EXPECT_TRUE(rig.await(q).is(driver_error::cancelled));
  rig.run_for(clock::milliseconds(10));
}

}  // namespace
}  // namespace freehca::testing
