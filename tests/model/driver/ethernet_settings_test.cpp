// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The settings, the counters, the module and the type of an Ethernet port.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <freehca/hca/ethernet/module_query.hpp>
#include <freehca/hca/ethernet/port_statistics.hpp>
#include <freehca/hca/ethernet/port_type.hpp>
#include <freehca/hca/ethernet/set_ethernet_port.hpp>
#include <freehca/layouts/register_map.hpp>

#include "either_reset.hpp"

// Compiled with others of the folder as one source: names of layouts are visible here alone.
namespace freehca::ethernet_settings_tests {
namespace {

using namespace layouts;
using fate = model::command_verdict::fate;

constexpr std::uint64_t latency = 20'000;

/// A command that the adapter got.
struct sent_command {
  opcode code;
  std::uint32_t modifier;
  std::uint64_t input;  ///< the immediate input, or the address of the mailbox
};

/// Port 1 is an Ethernet port or a VPI port, and port 2 an InfiniBand port.
class ethernet_settings : public ::testing::Test {
 protected:
  explicit ethernet_settings(bool vpi = false) : rig(how(vpi)) {
    EXPECT_TRUE(rig.adapter.open(rig.setup).ok());
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
      rig.adapter.commands().set_limit(p, clock::milliseconds(20));
    rig.run_for(clock::milliseconds(1));
  }
  ~ethernet_settings() override {
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  static in_process::machine_options how(bool vpi) {
    in_process::machine_options o;
    o.model.link[0] = model::link_layer::ethernet;
    o.model.vpi[0] = vpi;
    o.model.cable[0] = true;
    o.model.faults.command_latency_ns = latency;
    return o;
  }
  const port_attributes& port() const { return rig.adapter.port(1); }
  status set(const ethernet_port_settings& to, unsigned port = 1) {
    set_ethernet_port op;
    op.start(rig.adapter, port, to);
    return rig.await(op);
  }
  status change(bool open) {
    port_operation op;
    open ? op.open(rig.adapter, 1) : op.close(rig.adapter, 1);
    return rig.await(op);
  }
  /// Notes the commands and keeps the mailbox of the last one of each opcode.
  void watch() {
    rig.machine.adapter().judge_commands(
        [this](opcode code, std::uint32_t modifier) -> model::command_verdict {
          const std::uint64_t high = rig.machine.mmio_read_32(0, bar0::hcr),
                              low = rig.machine.mmio_read_32(0, bar0::hcr + 4);
          const std::uint64_t input = high << 32 | low;
          if (code == opcode::set_port || code == opcode::set_vlan_fltr) {
            const std::byte* const at = rig.machine.memory().find(input, 4096);
            EXPECT_NE(at, nullptr);
            if (at != nullptr) mailbox[code].assign(at, at + 4096);
          }
          sent.push_back({code, modifier, input});
          return {};
        });
  }
  void fail_command(unsigned n, model::command_verdict verdict) {
    rig.machine.adapter().judge_commands(
        [n, verdict, seen = 0u](opcode, std::uint32_t) mutable -> model::command_verdict {
          return ++seen == n ? verdict : model::command_verdict{};
        });
  }
  void refuses(status s, attribute_id what, std::uint64_t value, std::uint64_t limit) {
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << testing::words(s);
    EXPECT_EQ(rig.adapter.refused().what, what);
    EXPECT_EQ(rig.adapter.refused().value, value);
    EXPECT_EQ(rig.adapter.refused().limit, limit);
  }
  std::uint64_t posted() { return rig.adapter.commands().statistics().posted; }

  testing::device_rig rig;
  std::vector<sent_command> sent;
  std::map<opcode, std::vector<std::byte>> mailbox;
};

/// Priorities with pause exclude global pause of the same direction.
TEST_F(ethernet_settings, have_pause_by_priority) {
  using l = set_port_general;
  watch();
  ASSERT_TRUE(set({.sends_priority_pause = 0x08}).ok());
  auto general = image<l>::from_bytes(mailbox[opcode::set_port].data());
  EXPECT_EQ(general.get<&l::pfctx>(), 0x08u);
  EXPECT_EQ(general.get<&l::pfcrx>(), 0u);
  EXPECT_TRUE(general.get<&l::v_pptx>() && !general.get<&l::pptx>());
  EXPECT_TRUE(general.get<&l::v_pprx>() && general.get<&l::pprx>());
  ASSERT_TRUE(
      set({.sends_pause = false, .sends_priority_pause = 0xff, .obeys_priority_pause = 0x81}).ok());
  EXPECT_EQ(port().sends_priority_pause, 0xffu);
  EXPECT_EQ(port().obeys_priority_pause, 0x81u);
  // Opening the port writes the same values.
  mailbox.clear();
  ASSERT_TRUE(change(true).ok());
  general = image<l>::from_bytes(mailbox[opcode::set_port].data());
  EXPECT_EQ(general.get<&l::pfctx>(), 0xffu);
  EXPECT_EQ(general.get<&l::pfcrx>(), 0x81u);
  EXPECT_FALSE(general.get<&l::pptx>() || general.get<&l::pprx>());
  ASSERT_TRUE(set({}).ok());
  EXPECT_EQ(port().sends_priority_pause, 0u);
}

TEST_F(ethernet_settings, are_sent_in_their_order) {
  watch();
  const std::uint16_t vlans[] = {0, 5, 4094};
  const std::uint64_t groups[] = {0x0100'5e00'0001, 0x3333'0000'0001};
  ASSERT_TRUE(set({.mtu = 9000,
                   .sends_pause = false,
                   .filters_vlans = true,
                   .vlans = vlans,
                   .vlan_entries = 3,
                   .filters_multicast = true,
                   .groups = groups,
                   .group_entries = 2})
                  .ok());
  std::vector<opcode> order;
  for (const sent_command& c : sent) {
    order.push_back(c.code);
    EXPECT_EQ(c.modifier, 1u) << name_of(c.code);
  }
  const opcode groups_set = opcode::set_mcast_fltr;
  EXPECT_EQ(order,
            (std::vector<opcode>{opcode::set_port, opcode::query_port, opcode::set_vlan_fltr,
                                 groups_set, groups_set, groups_set, groups_set, groups_set}));
  ASSERT_EQ(sent.size(), 8u);
  // Broadcast replaces the groups, and the others are added.
  EXPECT_EQ(sent[4].input, 0x8000'ffff'ffff'ffffu);
  EXPECT_EQ(sent[5].input, groups[0]);
  EXPECT_EQ(sent[6].input, groups[1]);
  using l = set_port_general;
  const auto general = image<l>::from_bytes(mailbox[opcode::set_port].data());
  EXPECT_EQ(general.get<&l::mtu>(), 9026u);
  EXPECT_FALSE(general.get<&l::pptx>());
  EXPECT_TRUE(general.get<&l::v_pptx>() && general.get<&l::pprx>());
  // Linux 6.1 en_port.c: the words of the highest VLANs come first.
  const std::byte* const words = mailbox[opcode::set_vlan_fltr].data();
  for (unsigned w = 0; w < 128; ++w)
    EXPECT_EQ(load_be<std::uint32_t>(words + 4 * w), w == 0     ? 0x4000'0000u
                                                     : w == 127 ? 0x21u
                                                                : 0u)
        << w;
  EXPECT_EQ(port().ethernet_mtu, 9000u);
  EXPECT_EQ(port().active_mtu, ib_mtu::mtu_4096);
  EXPECT_TRUE(!port().sends_pause && port().obeys_pause);
  // A port that is opened later has them.
  sent.clear();
  ASSERT_TRUE(change(true).ok());
  EXPECT_EQ(image<l>::from_bytes(mailbox[opcode::set_port].data()).get<&l::mtu>(), 9026u);
  EXPECT_TRUE(rig.run([&] { return port().active(); }, clock::seconds(10)));
  EXPECT_EQ(port().active_mtu, ib_mtu::mtu_4096);
  // An open port takes new ones. Without filters all VLANs and groups pass.
  sent.clear();
  ASSERT_TRUE(set({}).ok());
  EXPECT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent.back().code, opcode::set_mcast_fltr);
  EXPECT_EQ(load_be<std::uint32_t>(mailbox[opcode::set_vlan_fltr].data()), 0xffff'ffffu);
  EXPECT_EQ(port().active_mtu, ib_mtu::mtu_1024);
  EXPECT_TRUE(port().active());
}

TEST_F(ethernet_settings, decide_the_mtu_of_roce) {
  const std::pair<std::uint16_t, ib_mtu> pairs[] = {
      {68, ib_mtu::mtu_256},    {607, ib_mtu::mtu_256},   {608, ib_mtu::mtu_512},
      {1119, ib_mtu::mtu_512},  {1120, ib_mtu::mtu_1024}, {2143, ib_mtu::mtu_1024},
      {2144, ib_mtu::mtu_2048}, {4191, ib_mtu::mtu_2048}, {4192, ib_mtu::mtu_4096},
      {9600, ib_mtu::mtu_4096}};
  for (const auto& [bytes, code] : pairs) {
    ASSERT_TRUE(set({.mtu = bytes}).ok()) << bytes;
    EXPECT_EQ(port().active_mtu, code) << bytes;
  }
}

TEST_F(ethernet_settings, that_a_port_cannot_have) {
  using id = attribute_id;
  const std::uint64_t before = posted();
  refuses(set({.mtu = 67}), id::ethernet_mtu, 67, 68);
  refuses(set({.mtu = 0}), id::ethernet_mtu, 0, 68);
  refuses(set({.mtu = 9601}), id::ethernet_mtu, 9601, 9600);
  const std::uint16_t reserved[] = {5, 4095};
  refuses(set({.filters_vlans = true, .vlans = reserved, .vlan_entries = 2}), id::filter_vlan, 4095,
          4094);
  const std::uint64_t unicast[] = {0x0100'5e00'0001, 0x0002'c900'0010}, tall[] = {most_mac + 1};
  refuses(set({.filters_multicast = true, .groups = unicast, .group_entries = 2}), id::filter_group,
          unicast[1], unicast[1]);
  refuses(set({.filters_multicast = true, .groups = tall, .group_entries = 1}), id::filter_group,
          tall[0], most_mac);
  refuses(set({}, 0), id::port, 0, 1);
  refuses(set({}, 3), id::port, 3, 2);
  EXPECT_TRUE(set({}, 2).is(driver_error::unsupported)) << "an InfiniBand port";
  EXPECT_EQ(posted(), before);
  EXPECT_EQ(port().ethernet_mtu, 0u);

  set_ethernet_port first, second;
  first.start(rig.adapter, 1, {});
  second.start(rig.adapter, 1, {});
  EXPECT_TRUE(rig.await(second).is(driver_error::busy));
  EXPECT_TRUE(rig.await(first).ok());
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(set({}).is(driver_error::bad_state));
  EXPECT_TRUE(rig.bring_up().ok());
}

TEST_F(ethernet_settings, whose_command_fails) {
  const std::uint64_t group = 0x0100'5e00'0001;
  const ethernet_port_settings to{
      .mtu = 4000, .filters_multicast = true, .groups = &group, .group_entries = 1};
  for (const fate f : {fate::refuse, fate::hold, fate::hold_and_refuse}) {
    for (unsigned n = 1; n <= 7; ++n) {
      ASSERT_TRUE(set({}).ok());
      fail_command(n, {.what = f});
      const status s = set(to);
      EXPECT_TRUE(f == fate::refuse ? s.is(command_status::internal_error)
                                    : s.is(transport_error::timeout))
          << n << ": " << testing::words(s);
      EXPECT_EQ(port().ethernet_mtu, n == 1 ? 1500u : 4000u) << n;
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; })) << n;
      EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u) << n;
      ASSERT_TRUE(set(to).ok()) << n;
    }
  }
}

TEST_F(ethernet_settings, cancelled_at_any_instant) {
  unsigned ended = 0;
  for (std::uint64_t after = 0; after <= 5 * latency; after += latency / 4) {
    set_ethernet_port op;
    op.start(rig.adapter, 1, {});
    rig.run([&] { return op.done(); }, after);
    op.cancel();
    const status s = rig.await(op);
    if (!s.ok()) {
      ++ended;
      EXPECT_TRUE(s.is(driver_error::cancelled)) << after << ": " << testing::words(s);
    }
    EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
    EXPECT_TRUE(set({}).ok()) << after;
  }
  EXPECT_GE(ended, 10u);
}

TEST_F(ethernet_settings, counters_of_a_port_are_read_and_reset) {
  const auto read = [&](unsigned number, bool reset, ethernet_counters& to) {
    port_statistics_query q;
    q.start(rig.adapter, number, reset);
    const status s = rig.await(q);
    if (s.ok()) to = q.counters();
    return s;
  };
  ASSERT_TRUE(change(true).ok());
  ASSERT_TRUE(rig.run([&] { return port().active(); }, clock::seconds(10)));
  ethernet_counters c;
  ASSERT_TRUE(read(1, true, c).ok());
  EXPECT_EQ(c.rx_frames, 0u);
  // Two frames from the cable: broadcast with a tag of priority 3, and a group without a tag.
  std::vector<std::byte> tagged(64), plain(100);
  std::memset(tagged.data(), 0xff, 6);
  const std::uint8_t tag[] = {0x81, 0x00, 0x60, 0x05, 0x88, 0xb5};
  std::memcpy(tagged.data() + 12, tag, sizeof tag);
  const std::uint8_t group[] = {0x01, 0x00, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
  std::memcpy(plain.data(), group, sizeof group);
  for (const auto& f : {tagged, plain}) rig.machine.adapter().link_receive(1, f.data(), f.size());
  rig.run_for(clock::milliseconds(1));
  port_statistics_query q;
  q.start(rig.adapter, 1);
  ASSERT_TRUE(rig.await(q).ok());
  c = q.counters();
  EXPECT_EQ(c.rx_frames, 2u);
  EXPECT_EQ(c.rx_broadcast, 1u);
  EXPECT_EQ(c.rx_multicast, 1u);
  EXPECT_EQ(c.rx_bytes, 64u + 100 + 2 * 4);
  EXPECT_EQ(q.counter(statistics::rx_frames, 3), 1u);
  EXPECT_EQ(q.counter(statistics::rx_frames, statistics_no_vlan), 1u);
  EXPECT_EQ(c.tx_frames, 0u);
  ASSERT_TRUE(read(1, true, c).ok());
  EXPECT_EQ(c.rx_frames, 2u) << "reading resets nothing before the answer";
  ASSERT_TRUE(read(1, false, c).ok());
  EXPECT_EQ(c.rx_frames, 0u);

  refuses(read(0, false, c), attribute_id::port, 0, 1);
  refuses(read(3, false, c), attribute_id::port, 3, 2);
  EXPECT_TRUE(read(2, false, c).is(driver_error::unsupported));
  fail_command(1, {.what = fate::refuse});
  EXPECT_TRUE(read(1, false, c).is(command_status::internal_error));
  fail_command(1, {.what = fate::hold});
  EXPECT_TRUE(read(1, false, c).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(read(1, false, c).is(driver_error::bad_state));
  EXPECT_TRUE(rig.bring_up().ok());
}

TEST_F(ethernet_settings, the_module_of_a_port_is_read) {
  module_query q;
  const auto read = [&](const module_part& part, unsigned number = 1) {
    if (q.done()) q.restart();
    q.start(rig.adapter, number, part);
    return rig.await(q);
  };
  ASSERT_TRUE(read({}).ok());
  EXPECT_EQ(q.data()[0], std::byte{sfp_module});
  ASSERT_TRUE(read({.offset = 20, .bytes = 48}).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(q.data()), 7), "freehca");
  ASSERT_TRUE(read({.i2c_address = sfp_diagnostics_address, .offset = 208, .bytes = 48}).ok());

  using id = attribute_id;
  refuses(read({.bytes = 0}), id::module_bytes, 0, 1);
  refuses(read({.bytes = 49}), id::module_bytes, 49, 48);
  refuses(read({.offset = 256}), id::module_offset, 256, 255);
  refuses(read({.offset = 209, .bytes = 48}), id::module_offset, 209, 208);
  refuses(read({}, 0), id::port, 0, 1);
  EXPECT_TRUE(read({}, 2).is(driver_error::unsupported));
  const status s = read({.i2c_address = 0x23});
  EXPECT_TRUE(s.is(transport_error::bad_reply)) << testing::words(s);
  EXPECT_EQ(module_query::error_of(s), module_error::i2c_address);
  EXPECT_EQ(module_query::error_of({}), module_error::none);
  fail_command(1, {.what = fate::refuse});
  EXPECT_TRUE(read({}).is(command_status::internal_error));
  fail_command(1, {.what = fate::hold});
  EXPECT_TRUE(read({}).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
  EXPECT_TRUE(read({}).ok());
}

struct vpi_port : ethernet_settings {
  vpi_port() : ethernet_settings(true) {}
  status become(port_type to, unsigned number = 1) {
    set_port_type op;
    op.start(rig.adapter, number, to, ports_to_close::none);
    return rig.await(op);
  }
};

TEST_F(vpi_port, changes_its_type_while_it_is_closed) {
  const std::uint64_t mac = port().mac;
  EXPECT_EQ(port().link_layer, port_type::ethernet);
  const std::uint64_t macs[] = {mac};
  set_port_addresses addresses;
  addresses.start(rig.adapter, 1, {.macs = macs, .mac_entries = 1});
  ASSERT_TRUE(rig.await(addresses).ok());
  ASSERT_TRUE(rig.adapter.addresses(1).has_mac(0));
  ASSERT_TRUE(change(true).ok());
  EXPECT_TRUE(become(port_type::ib).is(driver_error::bad_state)) << "it is open";
  ASSERT_TRUE(change(false).ok());
  EXPECT_TRUE(become(port_type::ethernet).is(driver_error::bad_state)) << "it is Ethernet";

  for (unsigned n = 0; n < 2; ++n) {
    ASSERT_TRUE(become(port_type::ib).ok());
    EXPECT_EQ(port().link_layer, port_type::ib);
    EXPECT_EQ(rig.adapter.capabilities().link_layer(1), port_type::ib);
    EXPECT_FALSE(rig.adapter.addresses(1).has_mac(0));
    EXPECT_FALSE(rig.adapter.port_open(1));
    EXPECT_NE(port().guid, 0u);
    EXPECT_EQ(port().mac, mac);
    EXPECT_EQ(port().ethernet_mtu, 0u);
    EXPECT_EQ(port().max_mtu, ib_mtu::mtu_4096);
    EXPECT_TRUE(set({}).is(driver_error::unsupported));
    ASSERT_TRUE(change(true).ok());
    rig.run_for(clock::milliseconds(100));
    ASSERT_TRUE(change(false).ok());

    ASSERT_TRUE(become(port_type::ethernet).ok());
    EXPECT_EQ(port().link_layer, port_type::ethernet);
    EXPECT_EQ(rig.adapter.capabilities().link_layer(1), port_type::ethernet);
    EXPECT_EQ(port().guid, 0u);
    EXPECT_EQ(port().ethernet_mtu, 1500u);
    EXPECT_EQ(port().active_mtu, ib_mtu::mtu_1024);
    ASSERT_TRUE(change(true).ok());
    EXPECT_TRUE(rig.run([&] { return port().active(); }, clock::seconds(10)));
    ASSERT_TRUE(change(false).ok());
  }
  // A reset ends it.
  ASSERT_TRUE(become(port_type::ib).ok());
  ASSERT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(become(port_type::ethernet).is(driver_error::bad_state));
  ASSERT_TRUE(rig.bring_up().ok());
  EXPECT_EQ(port().link_layer, port_type::ethernet);
}

TEST_F(vpi_port, has_no_other_type) {
  const auto number = [](port_type t) { return static_cast<unsigned>(t); };
  const std::uint64_t before = posted();
  for (const port_type t : {port_type::none, port_type::vpi})
    refuses(become(t), attribute_id::port_type, number(t), number(port_type::vpi));
  refuses(become(port_type::ethernet, 2), attribute_id::port_type, number(port_type::ethernet),
          number(port_type::ib));
  refuses(become(port_type::ib, 0), attribute_id::port, 0, 1);
  refuses(become(port_type::ib, 3), attribute_id::port, 3, 2);
  EXPECT_EQ(posted(), before);
  set_port_type first, second;
  first.start(rig.adapter, 1, port_type::ib);
  second.start(rig.adapter, 1, port_type::ib);
  EXPECT_TRUE(rig.await(second).is(driver_error::busy));
  EXPECT_TRUE(rig.await(first).ok());
}

TEST_F(vpi_port, whose_change_fails) {
  for (const fate f : {fate::refuse, fate::hold, fate::hold_and_refuse}) {
    for (unsigned n = 1; n <= 4; ++n) {
      ASSERT_EQ(port().link_layer, port_type::ethernet);
      rig.run_for(clock::milliseconds(1));
      fail_command(n, {.what = f});
      const status s = become(port_type::ib);
      EXPECT_TRUE(f == fate::refuse ? s.is(command_status::internal_error)
                                    : s.is(transport_error::timeout))
          << n << ": " << testing::words(s);
      EXPECT_EQ(port().link_layer, n == 1 ? port_type::ethernet : port_type::ib) << n;
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; })) << n;
      EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u);
      rig.run_for(clock::milliseconds(200));
      if (port().link_layer == port_type::ethernet) {
        EXPECT_TRUE(become(port_type::ib).ok()) << n;
      }
      EXPECT_EQ(port().max_mtu, ib_mtu::mtu_4096);
      ASSERT_TRUE(become(port_type::ethernet).ok()) << n;
    }
  }
}

TEST_F(vpi_port, senses_its_far_end) {
  port_type_query q;
  const auto sense = [&](unsigned number) {
    if (q.done()) q.restart();
    q.start(rig.adapter, number);
    return rig.await(q);
  };
  ASSERT_TRUE(sense(1).ok());
  EXPECT_EQ(q.type(), port_type::none) << "nothing was heard";
  ASSERT_TRUE(change(true).ok());
  ASSERT_TRUE(rig.run([&] { return port().active(); }, clock::seconds(10)));
  ASSERT_TRUE(sense(1).ok());
  EXPECT_EQ(q.type(), port_type::ethernet);
  ASSERT_TRUE(sense(2).ok());
  EXPECT_EQ(q.type(), port_type::ib);
  refuses(sense(0), attribute_id::port, 0, 1);
  refuses(sense(3), attribute_id::port, 3, 2);
  fail_command(1, {.what = fate::refuse});
  EXPECT_TRUE(sense(1).is(command_status::internal_error));
  rig.machine.adapter().judge_commands({});
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(sense(1).is(driver_error::bad_state));
  EXPECT_TRUE(rig.bring_up().ok());
}

}  // namespace
}  // namespace freehca::ethernet_settings_tests
