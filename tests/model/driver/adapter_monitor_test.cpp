// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Events about ports and about the adapter itself, told apart by the adapter_monitor.
#include <cstring>
#include <map>
#include <memory>

#include <freehca/hca/adapter_monitor.hpp>
#include <freehca/hca/kinds/flow_rule.hpp>
#include <freehca/model/raised_event.hpp>

#include "device_rig.hpp"

namespace freehca::testing {
namespace {

using layouts::event_type;
using layouts::opcode;
using model::raised_event;
using fate = model::command_verdict::fate;
using management = layouts::port_management_subtype;

class monitored : public ::testing::Test {
 protected:
  explicit monitored(const in_process::machine_options& how = {})
      : rig(how), monitor(std::make_unique<adapter_monitor>(sinks())) {}
  void SetUp() override {
    event_sinks to;
    to.context = this;
    to.port = [](void* t, unsigned) noexcept { ++static_cast<monitored*>(t)->told; };
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(monitor->start(rig.adapter).ok());
    rig.adapter.set_sinks(to);
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    settle();
    changes.clear();
    tables.clear();
    told = 0;
  }
  void TearDown() override {
    rig.machine.adapter().judge_commands({});
    rig.machine.alter_adapter_write = {};
    rig.adapter.set_sinks({});
    EXPECT_TRUE(rig.tear_down().ok());
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  }
  monitor_sinks sinks() {
    monitor_sinks s;
    s.context = this;
    s.condition = [](void* t, const layouts::image<layouts::eqe>& e) noexcept {
      static_cast<monitored*>(t)->conditions.push_back(e);
    };
    s.table = [](void* t, unsigned port, port_change what, unsigned block,
                 const subnet_query& read) noexcept {
      auto& self = *static_cast<monitored*>(t);
      self.tables.push_back({port, what, block});
      using keys = layouts::pkey_table;
      if (what == port_change::pkeys)
        self.first_key =
            layouts::load_be<std::uint16_t>(read.attribute<keys>().bytes_of<&keys::pkeys>());
    };
    s.port = [](void* t, unsigned port, std::uint32_t what) noexcept {
      static_cast<monitored*>(t)->changes[port] |= what;
    };
    return s;
  }
  void settle() { rig.run_for(clock::milliseconds(500)); }
  void raise(const raised_event& what) {
    EXPECT_TRUE(rig.machine.adapter().raise_event(what));
    settle();
  }
  static raised_event of(management what, std::uint8_t port = 1) {
    return {event_type::port_management_change, static_cast<std::uint8_t>(what), port};
  }
  static constexpr std::uint32_t bit(port_change what) { return static_cast<std::uint32_t>(what); }
  /// The agent refuses to read the table.
  void refuse_table(layouts::smp_attribute table) {
    using l = layouts::smp;
    rig.machine.alter_adapter_write = [this, table](std::uint64_t, std::byte* at,
                                                    std::size_t bytes) {
      if (bytes < l::bytes) return;
      auto answer = layouts::image<l>::from_bytes(at);
      if (answer.get<&l::mgmt_class>() != layouts::mad_class::subnet_lid_routed ||
          answer.get<&l::attribute_id>() != static_cast<unsigned>(table))
        return;
      ++refusals;
      answer.set<&l::status>(layouts::mad_status::invalid_attribute_value);
      std::memcpy(at, answer.data(), answer.size());
    };
  }
  /// Events about tables name this block, and these entries of it.
  void alter_events(std::uint32_t number, std::uint32_t mask) {
    using l = layouts::eqe_table_change;
    rig.machine.alter_adapter_write = [=](std::uint64_t, std::byte* at, std::size_t bytes) {
      if (bytes != l::bytes - 8) return;
      auto e = layouts::image<l>{};
      std::memcpy(e.data(), at, bytes);
      if (e.get<&l::event_type>() != event_type::port_management_change) return;
      e.set<&l::block_ptr>(number).set<&l::tbl_entries_mask>(mask);
      std::memcpy(at, e.data(), bytes);
    };
  }
  std::uint64_t counter(std::string_view name) {
    model::counter c;
    for (std::size_t i = 0; rig.machine.adapter().counter_at(i, c); ++i)
      if (c.name == name) return c.value;
    ADD_FAILURE() << name;
    return 0;
  }

  struct block {
    unsigned port;
    port_change what;
    unsigned number;
    bool operator==(const block&) const = default;
  };
  device_rig rig;
  std::vector<layouts::image<layouts::eqe>> conditions;
  std::vector<block> tables;
  std::map<unsigned, std::uint32_t> changes;
  unsigned told = 0, refusals = 0;
  std::uint16_t first_key = 0;
  std::unique_ptr<adapter_monitor> monitor;
};

TEST_F(monitored, clients_that_must_register_again_are_told) {
  raise(of(management::port_info, 2));
  EXPECT_EQ(changes, (std::map<unsigned, std::uint32_t>{{2, bit(port_change::client_reregister)}}));
  EXPECT_TRUE(has(changes[2], port_change::client_reregister));
  EXPECT_TRUE(tables.empty());
  EXPECT_EQ(told, 1u) << "event_sinks::port comes as well";
  EXPECT_EQ(monitor->count(event_type::port_management_change), 3u)
      << "one of each port in bring-up, and this one";
}

TEST_F(monitored, tables_that_have_changed_are_read_again) {
  raise(of(management::pkey_table));
  EXPECT_EQ(tables, (std::vector<block>{{1, port_change::pkeys, 0}}));
  EXPECT_EQ(first_key, layouts::default_pkey_full);
  EXPECT_EQ(changes[1], bit(port_change::pkeys));
  tables.clear();
  changes.clear();
  raise(of(management::guid_info, 2));
  EXPECT_EQ(tables, (std::vector<block>{{2, port_change::guids, 0}}));
  EXPECT_EQ(changes[2], bit(port_change::guids));
  EXPECT_NE(rig.adapter.port(2).guid, 0u);
  raise(of(management::sl_to_vl_map));
  EXPECT_EQ(changes[1], bit(port_change::sl_to_vl));
}

TEST_F(monitored, changes_that_come_together_are_reported_together) {
  for (const management what : {management::pkey_table, management::guid_info,
                                management::port_info, management::sl_to_vl_map})
    EXPECT_TRUE(rig.machine.adapter().raise_event(of(what)));
  settle();
  EXPECT_EQ(changes[1], bit(port_change::pkeys) | bit(port_change::guids) |
                            bit(port_change::client_reregister) | bit(port_change::sl_to_vl));
  EXPECT_EQ(tables.size(), 2u);
}

TEST_F(monitored, a_cable_that_is_pulled_changes_the_state) {
  rig.machine.adapter().plug_cable(1, false);
  settle();
  EXPECT_TRUE(has(changes[1], port_change::state));
  EXPECT_FALSE(rig.adapter.port(1).active());
  rig.machine.adapter().plug_cable(1, true);
  EXPECT_TRUE(rig.run([&] { return rig.adapter.port(1).active(); }));
  settle();
  EXPECT_GE(monitor->count(event_type::port_change), 2u);
}

TEST_F(monitored, a_table_whose_read_is_refused_is_read_later) {
  unsigned asked = 0;
  rig.machine.adapter().judge_commands([&asked](opcode o, std::uint32_t) -> model::command_verdict {
    // The attributes of the port are read first.
    if (o != opcode::mad_ifc || ++asked != 2) return {};
    return {fate::refuse, layouts::command_status::internal_error};
  });
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::pkey_table)));
  rig.run_for(clock::milliseconds(50));
  EXPECT_EQ(asked, 2u) << "no second try before the pause";
  EXPECT_EQ(changes, (std::map<unsigned, std::uint32_t>{{1, 0}})) << "without the table";
  EXPECT_EQ(told, 1u) << "the port does not wait for its table";
  settle();
  EXPECT_EQ(told, 2u);
  EXPECT_EQ(tables, (std::vector<block>{{1, port_change::pkeys, 0}}));
  EXPECT_EQ(changes[1], bit(port_change::pkeys));
}

TEST_F(monitored, a_block_that_the_agent_always_refuses_is_given_up) {
  refuse_table(layouts::smp_attribute::pkey_table);
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::pkey_table)));
  rig.run_for(clock::milliseconds(50));
  rig.machine.adapter().plug_cable(1, false);
  rig.run_for(clock::milliseconds(150));
  EXPECT_EQ(changes[1], bit(port_change::state)) << "reported although the table is refused";
  EXPECT_FALSE(rig.adapter.port(1).active());
  rig.run_for(clock::milliseconds(1000));
  EXPECT_EQ(changes[1], bit(port_change::state) | bit(port_change::pkeys));
  EXPECT_EQ(refusals, 4u);
  const std::uint64_t commands = rig.adapter.info().commands_issued;
  settle();
  EXPECT_EQ(rig.adapter.info().commands_issued, commands) << "given up";
  EXPECT_TRUE(tables.empty());
  // A new event is read as if nothing had been refused.
  rig.machine.alter_adapter_write = {};
  raise(of(management::pkey_table));
  EXPECT_EQ(tables, (std::vector<block>{{1, port_change::pkeys, 0}}));
}

TEST_F(monitored, a_refused_table_does_not_delay_another_one) {
  refuse_table(layouts::smp_attribute::guid_info);
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::guid_info)));
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::pkey_table)));
  rig.run_for(clock::milliseconds(50));
  EXPECT_EQ(tables, (std::vector<block>{{1, port_change::pkeys, 0}}));
  EXPECT_EQ(changes[1], bit(port_change::pkeys));
  rig.machine.alter_adapter_write = {};
  settle();
  EXPECT_EQ(tables.back(), (block{1, port_change::guids, 0}));
  EXPECT_EQ(changes[1], bit(port_change::pkeys) | bit(port_change::guids));
}

TEST_F(monitored, blocks_beyond_the_table_of_the_port_are_not_read) {
  // The device reports 16 GIDs, which are two blocks.
  using l = layouts::query_port;
  opcode last{};
  ASSERT_TRUE(rig.tear_down().ok());
  rig.machine.adapter().judge_commands([&last](opcode o, std::uint32_t) -> model::command_verdict {
    last = o;
    return {};
  });
  rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* at, std::size_t bytes) {
    if (last != opcode::query_port || bytes < l::bytes) return;
    auto answer = layouts::image<l>::from_bytes(at);
    answer.set<&l::log_max_gid>(4);
    std::memcpy(at, answer.data(), answer.size());
  };
  ASSERT_TRUE(rig.bring_up().ok());
  ASSERT_EQ(rig.adapter.port(1).gid_table_length, 16u);
  rig.machine.alter_adapter_write = {};
  settle();
  tables.clear();
  changes.clear();
  alter_events(0, 0xffff'ffff);
  raise(of(management::guid_info));
  EXPECT_EQ(tables, (std::vector<block>{{1, port_change::guids, 0}, {1, port_change::guids, 1}}));
  EXPECT_EQ(changes[1], bit(port_change::guids));
  tables.clear();
  const std::uint32_t unknown = monitor->unknown();
  for (const auto& [number, mask] : {std::pair{0u, 0xffff'0000u}, {1u, 1u}, {0xffff'ffffu, 1u}}) {
    alter_events(number, mask);
    raise(of(management::guid_info));
  }
  EXPECT_TRUE(tables.empty());
  EXPECT_EQ(monitor->unknown(), unknown + 3);
}

TEST_F(monitored, unknown_ports_and_subtypes_are_counted_and_do_no_harm) {
  const std::uint64_t commands = rig.adapter.info().commands_issued;
  const std::pair<event_type, std::pair<int, int>> wrong[] = {
      {event_type::port_management_change, {0x15, 0}},
      {event_type::port_management_change, {0x15, 3}},
      {event_type::port_management_change, {0x16, 255}},
      {event_type::port_change, {1, 0}},
      {event_type::port_change, {4, 15}}};
  for (const auto& [type, what] : wrong)
    raise({type, static_cast<std::uint8_t>(what.first), static_cast<std::uint8_t>(what.second)});
  EXPECT_EQ(monitor->unknown(), 5u);
  EXPECT_EQ(rig.adapter.info().commands_issued, commands);
  raise({event_type::port_management_change, 0x99, 1});
  EXPECT_EQ(monitor->unknown(), 6u);
  EXPECT_TRUE(tables.empty());
  EXPECT_EQ(changes[1], 0u) << "the port is read again, but nothing is known to have changed";
  EXPECT_TRUE(rig.adapter.up());
}

TEST_F(monitored, warnings_are_reported_and_counted_and_the_device_stays_up) {
  raise({event_type::ecc_detect, 7});
  raise({event_type::fatal_warning, 0});
  raise({event_type::fatal_warning, 99});
  ASSERT_EQ(conditions.size(), 3u);
  using warning = layouts::eqe_temperature;
  EXPECT_EQ(conditions[0].get<&layouts::eqe::event_sub_type>(), 7u);
  EXPECT_GT(layouts::image<warning>::from_bytes(conditions[1].data())
                .get<&warning::current_temperature>(),
            0u);
  EXPECT_EQ(conditions[2].get<&layouts::eqe::event_sub_type>(), 99u);
  EXPECT_EQ(monitor->count(event_type::fatal_warning), 2u);
  EXPECT_EQ(monitor->count(event_type::ecc_detect), 1u);
  EXPECT_TRUE(rig.adapter.up());
}

TEST_F(monitored, a_full_event_queue_is_reported_and_fails_the_device) {
  firmware_command<commands::get_op_req> pending{layouts::get_op_req_modifier::get,
                                                 std::uint32_t{0}};
  EXPECT_TRUE(rig.machine.adapter().raise_event({event_type::eq_overflow}));
  rig.adapter.commands().submit(pending);
  EXPECT_TRUE(rig.await(pending).is(transport_error::events_lost));
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(rig.adapter.state(), device_state::failed);
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok());
  settle();
  changes.clear();
  raise(of(management::port_info));
  EXPECT_EQ(changes[1], bit(port_change::client_reregister)) << "the monitor goes on";
}

TEST_F(monitored, operations_that_the_firmware_requires_are_answered) {
  raise({event_type::operation_required, model::operation_of_multicast});
  EXPECT_EQ(counter("operations_done"), 1u) << "a group without members";
  raise({event_type::operation_required, 0x11});
  EXPECT_EQ(counter("operations_refused"), 1u) << "not known";
  for (unsigned i = 0; i < 5; ++i)
    EXPECT_TRUE(rig.machine.adapter().raise_event({event_type::operation_required, 0x26}));
  settle();
  EXPECT_EQ(counter("operations_done"), 6u);
  EXPECT_EQ(counter("operations_required"), 0u);
  EXPECT_EQ(monitor->count(event_type::operation_required), 7u);
  EXPECT_EQ(conditions.size(), 7u);
}

class steered_by_rules : public monitored {
 protected:
  steered_by_rules() {
    rig.setup.budget.log_mcg_entry_bytes = 10;
    steer_by_rules(rig.setup);
  }
};

TEST_F(steered_by_rules, no_queue_pair_joins_a_multicast_group_for_the_firmware) {
  raise({event_type::operation_required, model::operation_of_multicast});
  EXPECT_EQ(counter("operations_refused"), 1u);
  EXPECT_EQ(counter("operations_done"), 0u);
}

TEST_F(monitored, an_operation_that_cannot_be_fetched_waits_for_the_next_event) {
  unsigned asked = 0;
  rig.machine.adapter().judge_commands([&asked](opcode o, std::uint32_t) -> model::command_verdict {
    if (o != opcode::get_op_req || ++asked != 1) return {};
    return {fate::refuse, layouts::command_status::internal_error};
  });
  raise({event_type::operation_required, 0x26});
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(counter("operations_required"), 1u);
  raise({event_type::operation_required, 0x26});
  EXPECT_EQ(counter("operations_done"), 1u);
}

TEST_F(monitored, is_bound_to_one_device_that_is_down) {
  adapter_monitor second{monitor_sinks{}};
  EXPECT_TRUE(second.start(rig.adapter).is(driver_error::bad_state)) << "the device is up";
  EXPECT_TRUE(monitor->start(rig.adapter).is(driver_error::bad_state)) << "started already";
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(second.start(rig.adapter).is(driver_error::bad_state)) << "it has a monitor";
  monitor->stop();
  EXPECT_TRUE(second.start(rig.adapter).ok());
  ASSERT_TRUE(rig.bring_up().ok());
}

TEST_F(monitored, may_end_while_it_reads_and_answers) {
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::pkey_table)));
  EXPECT_TRUE(rig.machine.adapter().raise_event({event_type::operation_required, 0x26}));
  rig.run([&] { return rig.adapter.commands().in_flight() != 0; });
  monitor.reset();
  settle();
  EXPECT_TRUE(changes.empty());
  // Without a monitor the driver goes on as before.
  rig.machine.adapter().plug_cable(2, false);
  settle();
  EXPECT_GE(told, 1u);
  EXPECT_FALSE(rig.adapter.port(2).active());
}

TEST_F(monitored, leaves_no_port_unreported_when_it_stops) {
  unsigned asked = 0;
  rig.machine.adapter().judge_commands([&asked](opcode o, std::uint32_t) -> model::command_verdict {
    if (o == opcode::mad_ifc) ++asked;
    return {};
  });
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::pkey_table)));
  // The attributes of the port were read, and its table is under way.
  ASSERT_TRUE(rig.run([&] { return asked == 2; }));
  EXPECT_EQ(told, 0u);
  monitor->stop();
  EXPECT_EQ(told, 0u) << "device::poll() calls the sinks";
  settle();
  EXPECT_EQ(told, 1u);
  EXPECT_TRUE(tables.empty());
  EXPECT_TRUE(changes.empty());
  monitor.reset();
}

TEST_F(monitored, lives_through_a_reset_while_it_reads) {
  rig.machine.adapter().judge_commands([](opcode o, std::uint32_t) -> model::command_verdict {
    if (o != opcode::mad_ifc && o != opcode::get_op_req) return {};
    return {.what = fate::lose_answer};
  });
  EXPECT_TRUE(rig.machine.adapter().raise_event(of(management::guid_info)));
  EXPECT_TRUE(rig.machine.adapter().raise_event({event_type::operation_required, 0x26}));
  rig.run_for(clock::milliseconds(10));
  rig.machine.adapter().judge_commands({});
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok());
  settle();
  raise({event_type::operation_required, 0x26});
  EXPECT_EQ(counter("operations_required"), 0u);
}

class with_recoverable_errors : public monitored {
 protected:
  static in_process::machine_options how() {
    in_process::machine_options o;
    o.model.with.add(model::capability::recoverable_errors);
    return o;
  }
  with_recoverable_errors() : monitored(how()) {}
};

TEST_F(with_recoverable_errors, a_bad_cable_is_reported) {
  raise({event_type::recoverable_error, 1, 2});
  raise({event_type::recoverable_error, 77, 9});
  ASSERT_EQ(conditions.size(), 2u);
  using l = layouts::eqe_cable;
  EXPECT_EQ(layouts::image<l>::from_bytes(conditions[0].data()).get<&l::port>(), 2u);
  EXPECT_EQ(monitor->count(event_type::recoverable_error), 2u);
}

TEST_F(monitored, does_not_ask_for_what_the_firmware_does_not_have) {
  EXPECT_FALSE(rig.machine.adapter().raise_event({event_type::recoverable_error, 1}));
}

TEST(without_a_monitor, nobody_asks_for_required_operations) {
  device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok());
  EXPECT_FALSE(rig.machine.adapter().raise_event({event_type::operation_required, 0x26}));
  EXPECT_TRUE(rig.machine.adapter().raise_event({event_type::ecc_detect}));
  rig.run_for(clock::milliseconds(10));
  EXPECT_TRUE(rig.adapter.up());
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

}  // namespace
}  // namespace freehca::testing
