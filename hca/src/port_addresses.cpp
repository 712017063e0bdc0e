// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/port_addresses.hpp>

#include <freehca/firmware_cmds/port.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/ib_types.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

namespace freehca {

using namespace layouts;
namespace {

constexpr std::uint8_t ipv4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned highest_vlan = 4094;  // IEEE 802.1Q: 4095 is reserved

template <class Entry>
void put(std::byte* table, unsigned index, const image<Entry>& entry) {
  __builtin_memcpy(table + index * Entry::bytes, entry.data(), Entry::bytes);
}

gid_type type_of(const port_gid& g) {
  if (g.address == gid{}) return gid_type::none;
  if (g.version == roce_version::v1) return gid_type::v1;
  return is_ipv4(g.address) ? gid_type::v2_ipv4 : gid_type::v2_ipv6;
}

}  // namespace

gid gid_of_ipv4(std::uint32_t address) {
  gid g;
  __builtin_memcpy(g.raw, ipv4_prefix, sizeof ipv4_prefix);
  store_be(reinterpret_cast<std::byte*>(g.raw) + sizeof ipv4_prefix, address);
  return g;
}

bool is_ipv4(const gid& g) {
  return __builtin_memcmp(g.raw, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

bool is_multicast(const gid& g) {
  return is_ipv4(g) ? g.raw[12] >= 224 && g.raw[12] < 240 : g.raw[0] == 0xff;
}

gid gid_of_mac(std::uint64_t mac) {
  std::byte bytes[8];
  store_be(bytes, mac);  // the address is in the last six
  gid g = gid_of(default_subnet_prefix, 0);
  auto* const to = reinterpret_cast<std::byte*>(g.raw) + 8;
  __builtin_memcpy(to, bytes + 2, 3);
  to[0] ^= std::byte{2};
  to[3] = std::byte{0xff};
  to[4] = std::byte{0xfe};
  __builtin_memcpy(to + 5, bytes + 5, 3);
  return g;
}

unsigned port_address_tables::vlan_index(std::uint16_t vlan) const {
  for (unsigned i = 0; vlan <= highest_vlan && i < most_vlans; ++i)
    if (vlans_[i].load(relaxed) == vlan + 1u) return i + set_port_vlan_first;
  return 0;
}

std::uint16_t port_address_tables::vlan_at(unsigned index) const {
  const unsigned i = index - set_port_vlan_first;
  const std::uint16_t entry = i < most_vlans ? vlans_[i].load(relaxed) : std::uint16_t{0};
  return entry == 0 ? no_vlan : static_cast<std::uint16_t>(entry - 1);
}

void port_address_tables::forget() {
  for (auto& entry : macs_) entry.store(false, relaxed);
  for (auto& entry : vlans_) entry.store(0, relaxed);
  for (auto& entry : gids_) entry.store(gid_type::none, relaxed);
}

void port_address_tables::set_macs(const port_addresses& to) {
  for (unsigned i = 0; i < set_port_mac_entries; ++i)
    macs_[i].store(i < to.mac_entries && to.macs[i] != 0, relaxed);
}

void port_address_tables::set_vlans(const port_addresses& to) {
  // no_vlan plus 1 is 0.
  for (unsigned i = 0; i < most_vlans; ++i)
    vlans_[i].store(static_cast<std::uint16_t>(i < to.vlan_entries ? to.vlans[i] + 1u : 0),
                    relaxed);
}

void port_address_tables::set_gids(const port_addresses& to) {
  for (unsigned i = 0; i < set_port_gid_entries; ++i)
    gids_[i].store(i < to.gid_entries ? type_of(to.gids[i]) : gid_type::none, relaxed);
}

bool set_port_addresses::has_v2() const {
  return device_->capabilities().has(bmme_flag::roce_v1_v2);
}

status set_port_addresses::check() const {
  FREEHCA_TRY(device_->check_ethernet(port_));
  refused_attribute& note = device_->refused_;
  FREEHCA_TRY(note.check(attribute_id::mac_entries, to_.mac_entries, set_port_mac_entries));
  for (unsigned i = 0; i < to_.mac_entries; ++i) {
    const std::uint64_t mac = to_.macs[i];
    FREEHCA_TRY(note.check(attribute_id::port_mac, mac, most_mac));
    bool refused = is_multicast_mac(mac);
    for (unsigned j = 0; j < i; ++j) refused |= mac != 0 && mac == to_.macs[j];
    if (refused) return note.refuse(attribute_id::port_mac, mac, mac);
  }
  FREEHCA_TRY(
      note.check(attribute_id::vlan_entries, to_.vlan_entries, port_address_tables::most_vlans));
  for (unsigned i = 0; i < to_.vlan_entries; ++i) {
    const std::uint16_t vlan = to_.vlans[i];
    if (vlan == no_vlan) continue;
    FREEHCA_TRY(note.check(attribute_id::port_vlan, vlan, highest_vlan));
    for (unsigned j = 0; j < i; ++j)
      if (vlan == to_.vlans[j]) return note.refuse(attribute_id::port_vlan, vlan, vlan);
  }
  const unsigned length = device_->port(port_).gid_table_length;
  FREEHCA_TRY(note.check(attribute_id::gid_entries, to_.gid_entries,
                         length < set_port_gid_entries ? length : set_port_gid_entries));
  const bool v1 = device_->capabilities().has(dev_cap_flag::roce) || has_v2();
  for (unsigned i = 0; i < to_.gid_entries; ++i) {
    const port_gid& g = to_.gids[i];
    const gid_type type = type_of(g);
    if (type == gid_type::none) continue;
    if (!(type == gid_type::v1 ? v1 : has_v2())) return driver_error::unsupported;
    bool refused = is_multicast(g.address);
    for (unsigned j = 0; j < i; ++j) refused |= g == to_.gids[j];
    // A GID does not fit in the note. The note has its place in the list.
    if (refused) return note.refuse(attribute_id::port_gid, i, i);
  }
  return {};
}

void set_port_addresses::start(device& adapter, unsigned port, const port_addresses& to) {
  if (!startable()) return;
  aim(adapter, port);
  to_ = to;
  if (!begin(check(), &advance)) return;
  step_ = has_v2() ? step::udp_port : step::macs;
  send_table();
}

void set_port_addresses::send_table() {
  __builtin_memset(mailbox_, 0, sizeof mailbox_);
  command_request& r = next_request();
  auto selector = set_port_selector::general;
  std::size_t bytes = 0;
  switch (step_) {
    case step::udp_port: {
      using l = config_dev;
      put(mailbox_, 0,
          image<l>{}.set<&l::u_roce_v2_udp_dport>(true).set<&l::roce_v2_udp_dport>(
              roce_v2_udp_port));
      bytes = l::bytes;
      break;
    }
    case step::version: {
      using l = set_port_general;
      put(mailbox_, 0,
          image<l>{}.set<&l::v_roce_mode>(true).set<&l::roce_mode>(port_roce_mode::v1_and_v2));
      bytes = l::bytes;
      break;
    }
    case step::macs: {
      using l = set_port_mac_entry;
      for (unsigned i = 0; i < to_.mac_entries; ++i)
        if (const std::uint64_t mac = to_.macs[i]; mac != 0)
          put(mailbox_, i, image<l>{}.set<&l::mac>(mac).set<&l::valid>(true));
      selector = set_port_selector::mac_table;
      bytes = set_port_mac_entries * l::bytes;
      break;
    }
    case step::vlans: {
      using l = set_port_vlan_entry;
      for (unsigned i = 0; i < to_.vlan_entries; ++i)
        if (const std::uint16_t vlan = to_.vlans[i]; vlan != no_vlan)
          put(mailbox_, i + set_port_vlan_first,
              image<l>{}.set<&l::vlan_id>(vlan).set<&l::valid>(true));
      selector = set_port_selector::vlan_table;
      bytes = set_port_vlan_entries * l::bytes;
      break;
    }
    default:
      put_gids();
      selector = has_v2() ? set_port_selector::roce_addr : set_port_selector::gid_table;
      bytes = set_port_gid_entries *
              (has_v2() ? set_port_roce_addr_entry::bytes : set_port_gid_entry::bytes);
  }
  if (step_ == step::udp_port) {
    r.opcode = commands::set_config_dev::code;
    commands::set_config_dev::aim(r);
  } else {
    // The selector apart, SET_PORT is the same for all tables.
    using set = commands::set_port_ethernet<set_port_general, set_port_selector::general>;
    r.opcode = set::code;
    set::aim(r, port_);
    r.input_modifier = set_port_input_modifier(selector, port_);
  }
  change_.put_at_risk(control().addresses_at_risk);
  send_mailbox(mailbox_, bytes);
}

void set_port_addresses::put_gids() {
  for (unsigned i = 0; i < to_.gid_entries; ++i) {
    // The entry of a device with RoCE v2 begins with that of one without.
    using l = set_port_roce_addr_entry;
    std::byte* const entry = mailbox_ + i * (has_v2() ? l::bytes : set_port_gid_entry::bytes);
    __builtin_memcpy(entry, to_.gids[i].address.raw, set_port_gid_entry::bytes);
    if (const gid_type type = type_of(to_.gids[i]); type >= gid_type::v2_ipv6) {
      const auto versions = image<l>{}.set<&l::type>(type == gid_type::v2_ipv6).set<&l::version>(2);
      __builtin_memcpy(entry + l{}.version.offset, versions.data() + l{}.version.offset, 4);
    }
  }
}

void set_port_addresses::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<set_port_addresses&>(self);
  port_control& p = o.control();
  if (p.addresses_at_risk.in_doubt()) {
    p.addresses.forget();
    return o.complete(outcome);
  }
  if (outcome.ok()) {
    if (o.step_ == step::macs) p.addresses.set_macs(o.to_);
    if (o.step_ == step::vlans) p.addresses.set_vlans(o.to_);
    if (o.step_ == step::gids) p.addresses.set_gids(o.to_);
    outcome = o.step_ == step::gids ? status() : o.stop_reason();
    if (outcome.ok() && o.step_ != step::gids) {
      o.step_ = static_cast<step>(static_cast<unsigned>(o.step_) + 1);
      return o.send_table();
    }
  }
  o.end(outcome);
}

}  // namespace freehca
