// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/set_ethernet_port.hpp>

#include <freehca/firmware_cmds/ethernet_port.hpp>
#include <freehca/layouts/query_port.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

#include "port_limits.hpp"

namespace freehca {

status set_ethernet_port::check() const {
  device& d = *device_;
  refused_attribute& note = d.refused_;
  FREEHCA_TRY(d.check_ethernet(port_));
  const auto& answer = d.capabilities().raw_port[port_ - 1];
  FREEHCA_TRY(note.check(attribute_id::ethernet_mtu, to_.mtu,
                         answer.get<&layouts::query_port::eth_mtu>(), least_ethernet_mtu));
  // 4095 is reserved (IEEE 802.1Q).
  for (unsigned i = 0; to_.filters_vlans && i < to_.vlan_entries; ++i)
    FREEHCA_TRY(note.check(attribute_id::filter_vlan, to_.vlans[i], 4094));
  for (unsigned i = 0; to_.filters_multicast && i < to_.group_entries; ++i) {
    const std::uint64_t mac = to_.groups[i];
    FREEHCA_TRY(note.check(attribute_id::filter_group, mac, most_mac));
    if (!is_multicast_mac(mac)) return note.refuse(attribute_id::filter_group, mac, mac);
  }
  return {};
}

void set_ethernet_port::start(device& adapter, unsigned port, const ethernet_port_settings& to) {
  if (!startable()) return;
  aim(adapter, port);
  to_ = to;
  step_ = step::general;
  if (begin(check(), &advance)) send_step();
}

void set_ethernet_port::set_vlans(command_request& r) {
  using l = layouts::vlan_filter_word;
  __builtin_memset(words_, to_.filters_vlans ? 0 : 0xff, sizeof words_);
  for (unsigned i = 0; to_.filters_vlans && i < to_.vlan_entries; ++i) {
    const layouts::vlan_filter_place place = layouts::vlan_filter_place_of(to_.vlans[i]);
    std::byte* const at = words_ + place.word * l::bytes;
    layouts::store_be(at, layouts::load_be<std::uint32_t>(at) | 1u << place.bit);
  }
  r.opcode = commands::set_vlan_fltr::code;
  commands::set_vlan_fltr::aim(r, port_);
  send_mailbox(words_, sizeof words_);
}

void set_ethernet_port::set_groups(command_request& r, layouts::set_mcast_fltr_modifier what,
                                   std::uint64_t value) {
  // The modifier apart, the three commands are the same.
  using set = commands::set_mcast_fltr<layouts::set_mcast_fltr_modifier::config>;
  r.opcode = set::code;
  set::aim(r, port_, value);
  r.opcode_modifier = static_cast<std::uint8_t>(what);
  send();
}

void set_ethernet_port::send_step() {
  using what = layouts::set_mcast_fltr_modifier;
  using filter = layouts::multicast_filter;
  const auto entry = [](std::uint64_t mac, bool clear) {
    return layouts::load_be<std::uint64_t>(
        layouts::image<filter>().set<&filter::mac>(mac).set<&filter::clear>(clear).data());
  };
  if (step_ == step::read)
    return part(query_).start_ethernet(device_->commands(), port_,
                                       device_->port(port_).ethernet_mtu);
  command_request& r = next_request();
  switch (step_) {
    case step::vlans:
      return set_vlans(r);
    case step::groups_off:
      return set_groups(r, what::disable, 0);
    case step::clear:
      group_ = 0;
      return set_groups(r, what::config, entry(most_mac, true));
    case step::group:
      return set_groups(r, what::config, entry(to_.groups[group_++], false));
    case step::groups_on:
      return set_groups(r, what::enable, 0);
    default:
      ethernet_limits::fill(r, general_, port_, to_.mtu,
                            ethernet_limits::pause(to_.sends_pause, to_.sends_priority_pause),
                            ethernet_limits::pause(to_.obeys_pause, to_.obeys_priority_pause));
      send();
  }
}

set_ethernet_port::step set_ethernet_port::next_step() const {
  if (step_ < step::clear) return static_cast<step>(static_cast<unsigned>(step_) + 1);
  return group_ < to_.group_entries ? step::group : step::groups_on;
}

void set_ethernet_port::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<set_ethernet_port&>(self);
  device_ports& ports = o.device_->ports_;
  if (outcome.ok() && o.step_ == step::general) {
    port_attributes& p = ports.attributes(o.port_);
    p.ethernet_mtu = o.to_.mtu;
    p.sends_pause = o.to_.sends_pause;
    p.obeys_pause = o.to_.obeys_pause;
    p.sends_priority_pause = o.to_.sends_priority_pause;
    p.obeys_priority_pause = o.to_.obeys_priority_pause;
    ports.watch_ethernet();
  }
  if (outcome.ok() && o.step_ == step::read) outcome = ports.take(o.port_, o.query_);
  const bool last = o.step_ == (o.to_.filters_multicast ? step::groups_on : step::groups_off);
  if (outcome.ok() && !last) {
    outcome = o.stop_reason();
    if (outcome.ok()) {
      o.step_ = o.next_step();
      return o.send_step();
    }
  }
  o.end(outcome);
}

}  // namespace freehca
