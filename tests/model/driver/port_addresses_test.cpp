// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tables of addresses of an Ethernet port: the mailboxes that fill them, what the driver knows
// of them, and lists that it refuses.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/set_port.hpp>

#include "either_reset.hpp"

// Compiled with others of the folder as one source: names of layouts are visible here alone.
namespace freehca::port_address_tests {
namespace {

using namespace layouts;
using fate = model::command_verdict::fate;
using selector = set_port_selector;

constexpr std::uint64_t mac = 0x0002'c900'0010, other_mac = mac + 1;
constexpr std::uint32_t of_selector(selector s) {
  return set_port_input_modifier(s, 1);
}

class port_addresses_test : public ::testing::Test {
 protected:
  port_addresses_test() : port_addresses_test(how(model::variant::connectx3_pro)) {}
  explicit port_addresses_test(const in_process::machine_options& options) : rig(options) {
    EXPECT_TRUE(rig.adapter.open(rig.setup).ok());
    bring_up();
  }
  ~port_addresses_test() override {
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  /// Port 1 is an Ethernet port, and port 2 an InfiniBand port.
  static in_process::machine_options how(model::variant kind) {
    in_process::machine_options o;
    o.model.kind = kind;
    o.model.link[0] = model::link_layer::ethernet;
    o.model.faults.command_latency_ns = 20'000;
    return o;
  }
  void bring_up() {
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
      rig.adapter.commands().set_limit(p, clock::milliseconds(20));
    // The commands that follow an event of port 2 come before those that a test counts.
    rig.run_for(clock::milliseconds(1));
  }
  status set(const port_addresses& to, unsigned port = 1) {
    set_port_addresses op;
    op.start(rig.adapter, port, to);
    return rig.await(op);
  }
  std::uint64_t sent() { return rig.adapter.commands().statistics().posted; }
  /// Keeps the mailbox of each command by its input modifier, in the order of the commands.
  void watch(std::vector<std::uint32_t>& order,
             std::map<std::uint32_t, std::vector<std::byte>>& to) {
    rig.machine.adapter().judge_commands(
        [this, &order, &to](opcode code, std::uint32_t modifier) -> model::command_verdict {
          EXPECT_TRUE(code == opcode::set_port || code == opcode::config_dev);
          const std::uint64_t high = rig.machine.mmio_read_32(0, bar0::hcr),
                              low = rig.machine.mmio_read_32(0, bar0::hcr + 4);
          const std::byte* const at = rig.machine.memory().find(high << 32 | low, 4096);
          if (at != nullptr) to[modifier].assign(at, at + 4096);
          order.push_back(modifier);
          return {};
        });
  }
  /// Refused before a command, with this attribute, value and limit.
  void refuses(const port_addresses& to, attribute_id what, std::uint64_t value,
               std::uint64_t limit) {
    const std::uint64_t before = sent();
    EXPECT_TRUE(set(to).is(driver_error::bad_argument)) << name_of(what);
    EXPECT_EQ(sent(), before) << name_of(what);
    EXPECT_EQ(rig.adapter.refused().what, what) << name_of(rig.adapter.refused().what);
    EXPECT_EQ(rig.adapter.refused().value, value) << name_of(what);
    EXPECT_EQ(rig.adapter.refused().limit, limit) << name_of(what);
  }
  bool is_empty() const {
    const port_address_tables& t = rig.adapter.addresses(1);
    return !t.has_mac(0) && t.vlan_index(5) == 0 && t.gid(0) == gid_type::none;
  }

  testing::device_rig rig;
  const gid v4 = gid_of_ipv4(0x0a000001), v6 = gid_of_mac(mac);
  const std::uint16_t vlans[3] = {5, no_vlan, 4094};
  const std::uint64_t macs[3] = {mac, 0, other_mac};
  const port_gid gids[5] = {
      {v6, roce_version::v1}, {v6, roce_version::v2}, {}, {v4, roce_version::v2}, {v4}};
  const port_addresses good{macs, 3, vlans, 3, gids, 5};
};

TEST_F(port_addresses_test, the_gids_of_addresses) {
  const std::uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  EXPECT_EQ(std::memcmp(v4.raw, mapped, 16), 0);
  // The bit of local addresses is inverted.
  const gid local{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 2, 0xc9, 0xff, 0xfe, 0, 0, 0x10}};
  EXPECT_EQ(v6, local);
  EXPECT_TRUE(is_ipv4(v4) && !is_ipv4(v6) && !is_multicast(v4) && !is_multicast(v6));
  EXPECT_TRUE(is_multicast(gid_of_ipv4(0xe0000001)) && is_multicast(gid_of_ipv4(0xefffffff)));
  EXPECT_FALSE(is_multicast(gid_of_ipv4(0xdfffffff)) || is_multicast(gid_of_ipv4(0xf0000000)));
}

TEST_F(port_addresses_test, fills_each_table_whole_and_in_order) {
  std::vector<std::uint32_t> order;
  std::map<std::uint32_t, std::vector<std::byte>> boxes;
  watch(order, boxes);
  ASSERT_TRUE(set(good).ok());
  const std::uint32_t general = of_selector(selector::general),
                      mac_table = of_selector(selector::mac_table),
                      vlan_table = of_selector(selector::vlan_table),
                      gid_table = of_selector(selector::roce_addr);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, general, mac_table, vlan_table, gid_table}));
  for (const std::uint32_t m : order) ASSERT_EQ(boxes[m].size(), 4096u) << m;

  using config = layouts::config_dev;
  const auto device = image<config>::from_bytes(boxes[0].data());
  EXPECT_TRUE(device.get<&config::u_roce_v2_udp_dport>());
  EXPECT_FALSE(device.get<&config::u_vxlan_udp_dport>());
  EXPECT_EQ(device.get<&config::roce_v2_udp_dport>(), 4791u);
  using port = set_port_general;
  const auto mode = image<port>::from_bytes(boxes[general].data());
  EXPECT_TRUE(mode.get<&port::v_roce_mode>());
  EXPECT_FALSE(mode.get<&port::v_mtu>());
  EXPECT_EQ(mode.get<&port::roce_mode>(), port_roce_mode::v1_and_v2);

  const auto word = [&](std::uint32_t m, std::size_t at) {
    return load_be<std::uint32_t>(boxes[m].data() + at);
  };
  // Linux 6.1 port.c: MLX4_MAC_VALID is bit 63, MLX4_VLAN_VALID bit 31.
  EXPECT_EQ(word(mac_table, 0), 0x8000'0002u);
  EXPECT_EQ(word(mac_table, 4), 0xc900'0010u);
  EXPECT_EQ(word(mac_table, 8), 0u);
  EXPECT_EQ(word(mac_table, 16), 0x8000'0002u);
  EXPECT_EQ(word(mac_table, 20), 0xc900'0011u);
  for (std::size_t at = 24; at < 1024; at += 4) EXPECT_EQ(word(mac_table, at), 0u) << at;
  EXPECT_EQ(word(vlan_table, 0) | word(vlan_table, 4) | word(vlan_table, 12), 0u);
  EXPECT_EQ(word(vlan_table, 8), 0x8000'0005u);
  EXPECT_EQ(word(vlan_table, 16), 0x8000'0ffeu);
  for (std::size_t at = 20; at < 512; at += 4) EXPECT_EQ(word(vlan_table, at), 0u) << at;
  // Linux 6.1 hw/mlx4/main.c mlx4_ib_update_gids_v1_v2: type at byte 0x1a, version at byte 0x1b.
  const std::uint32_t tails[] = {0, 0x0102, 0, 0x0002, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(std::memcmp(boxes[gid_table].data() + 32 * i, gids[i].address.raw, 16), 0) << i;
    EXPECT_EQ(word(gid_table, 32 * i + 24), tails[i]) << i;
    EXPECT_EQ(word(gid_table, 32 * i + 16) | word(gid_table, 32 * i + 28), 0u) << i;
  }
  for (std::size_t at = 160; at < 4096; at += 4) EXPECT_EQ(word(gid_table, at), 0u) << at;

  const port_address_tables& known = rig.adapter.addresses(1);
  EXPECT_TRUE(known.has_mac(0) && !known.has_mac(1) && known.has_mac(2) && !known.has_mac(128));
  EXPECT_EQ(known.vlan_index(5), 2u);
  EXPECT_EQ(known.vlan_index(4094), 4u);
  EXPECT_EQ(known.vlan_index(no_vlan), 0u);
  EXPECT_EQ(known.vlan_index(0), 0u);
  EXPECT_EQ(known.gid(0), gid_type::v1);
  EXPECT_EQ(known.gid(1), gid_type::v2_ipv6);
  EXPECT_EQ(known.gid(2), gid_type::none);
  EXPECT_EQ(known.gid(3), gid_type::v2_ipv4);
  EXPECT_EQ(known.gid(4), gid_type::v1);
  EXPECT_EQ(known.gid(255), gid_type::none);

  // A second call replaces all of them. Lists of the greatest length fit.
  std::vector<std::uint64_t> many_macs;
  std::vector<std::uint16_t> many_vlans;
  std::vector<port_gid> many_gids;
  for (unsigned i = 0; i < 128; ++i) many_macs.push_back(mac + i);
  for (unsigned i = 0; i < 126; ++i) many_vlans.push_back(static_cast<std::uint16_t>(i));
  for (unsigned i = 0; i < rig.adapter.port(1).gid_table_length && i < 128; ++i)
    many_gids.push_back({gid_of_ipv4(0x0a000000 + i), roce_version::v2});
  ASSERT_TRUE(set({many_macs.data(), 128, many_vlans.data(), 126, many_gids.data(),
                   static_cast<unsigned>(many_gids.size())})
                  .ok());
  EXPECT_TRUE(known.has_mac(127));
  EXPECT_EQ(known.vlan_index(0), 2u);
  EXPECT_EQ(known.vlan_index(125), 127u);
  EXPECT_EQ(known.gid(0), gid_type::v2_ipv4);
  ASSERT_TRUE(set({}).ok());
  EXPECT_TRUE(is_empty());
}

TEST_F(port_addresses_test, lists_that_a_port_cannot_have) {
  using id = attribute_id;
  const auto with_macs = [](const std::uint64_t* m, unsigned n) { return port_addresses{m, n}; };
  const std::uint64_t group[] = {mac, 0x0100'5e00'0001}, broadcast[] = {most_mac},
                      long_one[] = {most_mac + 1}, twice[] = {mac, 0, mac};
  refuses(with_macs(group, 2), id::port_mac, group[1], group[1]);
  refuses(with_macs(broadcast, 1), id::port_mac, most_mac, most_mac);
  refuses(with_macs(long_one, 1), id::port_mac, most_mac + 1, most_mac);
  refuses(with_macs(twice, 3), id::port_mac, mac, mac);
  refuses(with_macs(nullptr, 129), id::mac_entries, 129, 128);

  const auto with_vlans = [](const std::uint16_t* v, unsigned n) {
    return port_addresses{.vlans = v, .vlan_entries = n};
  };
  const std::uint16_t reserved[] = {5, 4095}, doubled[] = {5, 6, 5};
  refuses(with_vlans(reserved, 2), id::port_vlan, 4095, 4094);
  refuses(with_vlans(doubled, 3), id::port_vlan, 5, 5);
  refuses(with_vlans(nullptr, 127), id::vlan_entries, 127, 126);

  const auto with_gids = [](const port_gid* g, unsigned n) {
    return port_addresses{.gids = g, .gid_entries = n};
  };
  gid group_gid;
  group_gid.raw[0] = 0xff;
  const port_gid groups[] = {{v4}, {group_gid}}, groups_ipv4[] = {{gid_of_ipv4(0xe0000001)}},
                 repeated[] = {{v4}, {}, {}, {v4}};
  refuses(with_gids(groups, 2), id::port_gid, 1, 1);
  refuses(with_gids(groups_ipv4, 1), id::port_gid, 0, 0);
  refuses(with_gids(repeated, 4), id::port_gid, 3, 3);
  const unsigned length = std::min(rig.adapter.port(1).gid_table_length, 128u);
  refuses(with_gids(nullptr, length + 1), id::gid_entries, length + 1, length);
  EXPECT_TRUE(is_empty());
}

TEST_F(port_addresses_test, ports_and_states_that_have_no_tables) {
  const std::uint64_t before = sent();
  EXPECT_TRUE(set(good, 0).is(driver_error::bad_argument));
  EXPECT_EQ(rig.adapter.refused().what, attribute_id::port);
  EXPECT_TRUE(set(good, 3).is(driver_error::bad_argument));
  EXPECT_TRUE(set(good, 2).is(driver_error::unsupported)) << "an InfiniBand port";
  EXPECT_EQ(sent(), before);
  set_port_addresses first, second;
  first.start(rig.adapter, 1, good);
  second.start(rig.adapter, 1, good);
  EXPECT_TRUE(rig.await(second).is(driver_error::busy));
  EXPECT_TRUE(rig.await(first).ok());
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(set(good).is(driver_error::bad_state));
  EXPECT_TRUE(rig.bring_up().ok());
  EXPECT_TRUE(is_empty()) << "a device that starts has empty tables";
}

TEST_F(port_addresses_test, a_command_that_fails) {
  for (unsigned n = 1; n <= 5; ++n) {
    for (const fate f : {fate::refuse, fate::hold, fate::hold_and_refuse, fate::lose_answer}) {
      ASSERT_TRUE(set({}).ok());
      rig.machine.adapter().judge_commands(
          [n, f, seen = 0u](opcode, std::uint32_t) mutable -> model::command_verdict {
            if (++seen != n) return {};
            return {.what = f};
          });
      const status s = set(good);
      EXPECT_FALSE(s.ok()) << n;
      const port_address_tables& known = rig.adapter.addresses(1);
      if (f == fate::refuse) {
        EXPECT_TRUE(s.is(command_status::internal_error)) << n << ": " << testing::words(s);
        // The tables in front of the refused one have the new entries.
        EXPECT_EQ(known.has_mac(0), n > 3) << n;
        EXPECT_EQ(known.vlan_index(5) != 0, n > 4) << n;
        EXPECT_EQ(known.gid(0), gid_type::none) << n;
      } else {
        EXPECT_TRUE(s.is(transport_error::timeout)) << n << ": " << testing::words(s);
        EXPECT_TRUE(is_empty()) << n;
        EXPECT_TRUE(set(good).is(driver_error::busy)) << n << ": the port is in doubt";
      }
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      if (f == fate::lose_answer) {
        // Only a reset ends this doubt.
        ASSERT_TRUE(rig.tear_down().ok());
        bring_up();
      }
      EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; })) << n;
      EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u) << n;
      EXPECT_TRUE(set(good).ok()) << n;
      EXPECT_EQ(known.gid(3), gid_type::v2_ipv4) << n;
    }
  }
}

TEST_F(port_addresses_test, cancelled_at_any_instant) {
  unsigned ended = 0;
  for (std::uint64_t after = 0; after <= 130'000; after += 5'000) {
    set_port_addresses op;
    op.start(rig.adapter, 1, good);
    rig.run([&] { return op.done(); }, after);
    op.cancel();
    const status s = rig.await(op);
    if (!s.ok()) {
      ++ended;
      EXPECT_TRUE(s.is(driver_error::cancelled)) << after << ": " << testing::words(s);
    }
    EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
    EXPECT_TRUE(set(good).ok()) << after;
  }
  EXPECT_GE(ended, 10u);
}

struct without_v2 : port_addresses_test {
  without_v2() : port_addresses_test(how(model::variant::connectx3)) {}
};

TEST_F(without_v2, the_table_has_gids_of_v1_only) {
  ASSERT_FALSE(rig.adapter.capabilities().has(bmme_flag::roce_v1_v2)) << "else this tests nothing";
  const std::uint64_t before = sent();
  EXPECT_TRUE(set(good).is(driver_error::unsupported));
  EXPECT_EQ(sent(), before);
  std::vector<std::uint32_t> order;
  std::map<std::uint32_t, std::vector<std::byte>> boxes;
  watch(order, boxes);
  const port_gid v1[] = {{v6}, {}, {v4}};
  ASSERT_TRUE(set({macs, 3, vlans, 3, v1, 3}).ok());
  const std::uint32_t gid_table = of_selector(selector::gid_table);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{of_selector(selector::mac_table),
                                               of_selector(selector::vlan_table), gid_table}));
  ASSERT_EQ(boxes[gid_table].size(), 4096u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::memcmp(boxes[gid_table].data() + 16 * i, v1[i].address.raw, 16), 0) << i;
  EXPECT_EQ(rig.adapter.addresses(1).gid(2), gid_type::v1);
}

}  // namespace
}  // namespace freehca::port_address_tests
