// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An Ethernet port that the driver opens, closes and watches.
#include <vector>

#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/set_port.hpp>

#include "either_reset.hpp"

// Compiled with others of the folder as one source: names of layouts are visible here alone.
namespace freehca::ethernet_port_tests {
namespace {

using namespace layouts;
using fate = model::command_verdict::fate;

constexpr std::uint64_t latency = 20'000;

/// Port 1 is an Ethernet port, and port 2 an InfiniBand port.
class ethernet_ports : public ::testing::Test {
 protected:
  explicit ethernet_ports(model::variant kind = model::variant::connectx3_pro) : rig(how(kind)) {
    EXPECT_TRUE(rig.adapter.open(rig.setup).ok());
    rig.adapter.set_sinks({.context = this, .port = [](void* self, unsigned port) noexcept {
                             ++static_cast<ethernet_ports*>(self)->reports[port];
                           }});
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
      rig.adapter.commands().set_limit(p, clock::milliseconds(20));
    rig.run_for(clock::milliseconds(1));
    reports[1] = 0;
    before = rig.adapter.holdings();
  }
  ~ethernet_ports() override {
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  static in_process::machine_options how(model::variant kind) {
    in_process::machine_options o;
    o.model.kind = kind;
    o.model.link[0] = model::link_layer::ethernet;
    o.model.cable[0] = true;
    o.model.faults.command_latency_ns = latency;
    return o;
  }
  const port_attributes& port() const { return rig.adapter.port(1); }
  status change(bool open) {
    port_operation op;
    open ? op.open(rig.adapter, 1) : op.close(rig.adapter, 1);
    return rig.await(op);
  }
  bool becomes(bool active) {
    return rig.run([&] { return port().active() == active; }, clock::seconds(10));
  }
  void fail_command(unsigned n, model::command_verdict verdict) {
    rig.machine.adapter().judge_commands(
        [this, n, verdict, seen = 0u](opcode code,
                                      std::uint32_t) mutable -> model::command_verdict {
          if (++seen != n) return {};
          struck = code;
          return verdict;
        });
  }
  void expect_as_before(bool open, const char* where) {
    EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; })) << where;
    EXPECT_EQ(rig.adapter.port_open(1), open) << where;
    EXPECT_EQ(rig.adapter.holdings().pages, before.pages) << where;
    EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u) << where;
  }

  testing::device_rig rig;
  device_holdings before;
  unsigned reports[3] = {};
  opcode struck{};
};

TEST_F(ethernet_ports, have_a_mac_and_no_link_before_they_are_opened) {
  EXPECT_EQ(port().link_layer, port_type::ethernet);
  EXPECT_EQ(port().mac, rig.machine.options().model.mac);
  EXPECT_EQ(rig.adapter.port(2).mac, rig.machine.options().model.mac + 1);
  EXPECT_FALSE(rig.adapter.port_open(1));
  EXPECT_FALSE(port().active());
  rig.machine.adapter().plug_cable(1, false);
  rig.machine.adapter().plug_cable(1, true);
  rig.run_for(clock::seconds(1));
  EXPECT_EQ(reports[1], 0u);
}

TEST_F(ethernet_ports, open_with_the_commands_of_linux_and_become_active) {
  std::vector<opcode> sent;
  image<set_port_general> general;
  rig.machine.adapter().judge_commands(
      [&](opcode code, std::uint32_t modifier) -> model::command_verdict {
        if (rig.adapter.port_open(1) && code != opcode::init_port) return {};
        sent.push_back(code);
        EXPECT_EQ(modifier, 1u) << name_of(code);
        if (code == opcode::set_port) {
          const std::uint64_t high = rig.machine.mmio_read_32(0, bar0::hcr),
                              low = rig.machine.mmio_read_32(0, bar0::hcr + 4);
          const std::byte* const at = rig.machine.memory().find(high << 32 | low, 4096);
          EXPECT_NE(at, nullptr);
          if (at != nullptr) general = image<set_port_general>::from_bytes(at);
        }
        return {};
      });
  ASSERT_TRUE(change(true).ok());
  EXPECT_EQ(sent, (std::vector<opcode>{opcode::query_port, opcode::set_port, opcode::init_port}));
  rig.machine.adapter().judge_commands({});
  using l = set_port_general;
  EXPECT_EQ(load_be<std::uint32_t>(general.data()), 7u) << "MTU and pause alone";
  EXPECT_EQ(general.get<&l::mtu>(), 1500u + 26);
  EXPECT_TRUE(general.get<&l::pptx>() && general.get<&l::pprx>());
  EXPECT_TRUE(rig.adapter.port_open(1));
  EXPECT_FALSE(port().active());
  EXPECT_EQ(port().physical_state, port_physical_state::disabled);
  ASSERT_TRUE(becomes(true));
  EXPECT_GE(reports[1], 1u);
  EXPECT_EQ(port().physical_state, port_physical_state::link_up);
  EXPECT_EQ(port().max_mtu, ib_mtu::mtu_4096);
  EXPECT_EQ(port().active_mtu, ib_mtu::mtu_1024);
  EXPECT_EQ(port().ethernet_mtu, 1500u);
  EXPECT_TRUE(port().sends_pause && port().obeys_pause);
  EXPECT_EQ(port().active_width, link_width::x1);
  EXPECT_EQ(port().active_speed, link_speed::qdr);
  EXPECT_EQ(port().active_speed_ext, link_speed_ext::none);
  EXPECT_EQ(port().lid, 0u);
  EXPECT_EQ(port().link_layer, port_type::ethernet);

  ASSERT_TRUE(change(false).ok());
  EXPECT_FALSE(rig.adapter.port_open(1));
  EXPECT_TRUE(becomes(false));
  ASSERT_TRUE(change(true).ok());
  EXPECT_TRUE(becomes(true));
  // PortInfo of the other port is read with the same query.
  port_operation op;
  op.close(rig.adapter, 2);
  EXPECT_TRUE(rig.await(op).ok());
  EXPECT_TRUE(rig.run([&] { return !rig.adapter.port(2).active(); }));
  port_operation up;
  up.open(rig.adapter, 2);
  EXPECT_TRUE(rig.await(up).ok());
  EXPECT_TRUE(rig.run([&] { return rig.adapter.port(2).active(); }, clock::seconds(10)));
  EXPECT_NE(rig.adapter.port(2).lid, 0u);
}

TEST_F(ethernet_ports, follow_a_link_that_is_lost_and_found) {
  ASSERT_TRUE(change(true).ok());
  ASSERT_TRUE(becomes(true));
  for (unsigned n = 0; n < 3; ++n) {
    unsigned reported = reports[1];
    rig.machine.adapter().plug_cable(1, false);
    EXPECT_TRUE(becomes(false));
    EXPECT_GT(reports[1], reported);
    reported = reports[1];
    rig.machine.adapter().plug_cable(1, true);
    EXPECT_TRUE(becomes(true));
    EXPECT_GT(reports[1], reported);
  }
}

TEST_F(ethernet_ports, are_refused_in_the_wrong_state) {
  EXPECT_TRUE(change(false).is(driver_error::bad_state)) << "it is closed";
  ASSERT_TRUE(change(true).ok());
  EXPECT_TRUE(change(true).is(driver_error::bad_state)) << "it is open";
  port_operation first, second;
  first.close(rig.adapter, 1);
  second.close(rig.adapter, 1);
  EXPECT_TRUE(rig.await(second).is(driver_error::busy));
  EXPECT_TRUE(rig.await(first).ok());
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(change(true).is(driver_error::bad_state)) << "the device is down";
  EXPECT_TRUE(rig.bring_up().ok());
  EXPECT_FALSE(rig.adapter.port_open(1)) << "bring-up opens InfiniBand ports only";
  EXPECT_EQ(port().ethernet_mtu, 0u);
}

TEST_F(ethernet_ports, stay_as_they_were_if_a_command_is_refused) {
  for (unsigned n = 1; n <= 3; ++n) {
    fail_command(n, {fate::refuse, command_status::internal_error});
    EXPECT_TRUE(change(true).is(command_status::internal_error)) << n;
    expect_as_before(false, name_of(struck));
  }
  EXPECT_EQ(struck, opcode::init_port);
  rig.machine.adapter().judge_commands({});
  ASSERT_TRUE(change(true).ok());
  ASSERT_TRUE(becomes(true));
  rig.run_for(clock::milliseconds(1));
  fail_command(1, {fate::refuse, command_status::internal_error});
  EXPECT_TRUE(change(false).is(command_status::internal_error));
  EXPECT_EQ(struck, opcode::close_port);
  expect_as_before(true, "CLOSE_PORT");
  EXPECT_TRUE(port().active());
}

TEST_F(ethernet_ports, are_in_doubt_until_a_late_answer) {
  for (const fate f : {fate::hold, fate::hold_and_refuse}) {
    const bool done_late = f == fate::hold;
    for (unsigned n = 1; n <= 3; ++n) {
      fail_command(n, {.what = f});
      EXPECT_TRUE(change(true).is(transport_error::timeout)) << n;
      if (n == 3) {
        EXPECT_TRUE(change(true).is(driver_error::busy));
      }
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      expect_as_before(n == 3 && done_late, name_of(struck));
    }
    if (!rig.adapter.port_open(1)) {
      ASSERT_TRUE(change(true).ok());
    }
    EXPECT_TRUE(becomes(true)) << "events come after a late answer too";
    rig.run_for(clock::milliseconds(1));
    fail_command(1, {.what = f});
    EXPECT_TRUE(change(false).is(transport_error::timeout));
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    expect_as_before(!done_late, "CLOSE_PORT");
    if (rig.adapter.port_open(1)) {
      ASSERT_TRUE(change(false).ok());
    }
    EXPECT_TRUE(becomes(false));
  }
}

TEST_F(ethernet_ports, cancelled_or_overdue_at_any_instant) {
  unsigned ended = 0;
  for (const bool by_deadline : {false, true}) {
    for (std::uint64_t after = 0; after <= 5 * latency; after += latency / 4) {
      const bool open = !rig.adapter.port_open(1);
      port_operation op;
      if (by_deadline) op.set_deadline(rig.machine.time() + after);
      open ? op.open(rig.adapter, 1) : op.close(rig.adapter, 1);
      if (!by_deadline) {
        rig.run([&] { return op.done(); }, after);
        op.cancel();
      }
      const status s = rig.await(op);
      if (!s.ok()) {
        ++ended;
        EXPECT_TRUE(by_deadline ? s.is(transport_error::timeout) : s.is(driver_error::cancelled))
            << after << ": " << testing::words(s);
      }
      EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
      expect_as_before(rig.adapter.port_open(1), "late");
      rig.run_for(clock::milliseconds(1));
    }
  }
  EXPECT_GE(ended, 10u);
}

TEST_F(ethernet_ports, a_query_after_an_event_that_fails_is_sent_again) {
  ASSERT_TRUE(change(true).ok());
  unsigned refused = 0;
  rig.machine.adapter().judge_commands(
      [&](opcode code, std::uint32_t modifier) -> model::command_verdict {
        if (code != opcode::query_port || modifier != 1 || ++refused > 3) return {};
        return {fate::refuse, command_status::internal_error};
      });
  EXPECT_TRUE(becomes(true));
  EXPECT_GT(refused, 3u);
}

TEST_F(ethernet_ports, a_recovery_closes_them) {
  ASSERT_TRUE(change(true).ok());
  ASSERT_TRUE(becomes(true));
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok());
  EXPECT_FALSE(rig.adapter.port_open(1));
  EXPECT_FALSE(port().active());
  ASSERT_TRUE(change(true).ok());
  EXPECT_TRUE(becomes(true));
}

struct old_adapter : ethernet_ports {
  old_adapter() : ethernet_ports(model::variant::connectx2) {}
};
TEST_F(old_adapter, opens_an_ethernet_port) {
  ASSERT_TRUE(change(true).ok());
  EXPECT_TRUE(becomes(true));
  EXPECT_EQ(port().active_mtu, ib_mtu::mtu_1024);
}

TEST(ethernet_adapter, knows_its_guid_without_an_infiniband_port) {
  in_process::machine_options how;
  how.model.ports = 1;
  how.model.link[0] = model::link_layer::ethernet;
  testing::device_rig rig(how);
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_EQ(rig.adapter.info().node_guid, how.model.node_guid);
  EXPECT_EQ(rig.adapter.info().system_image_guid, how.model.node_guid + 3);
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
}

}  // namespace
}  // namespace freehca::ethernet_port_tests
