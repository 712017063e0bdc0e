// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands that Ethernet ports alone have, and the counters that contexts name.
#include <array>

#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/ethernet_statistics.hpp>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ethernet_set_port.hpp"
#include "ports/far_end.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

template <class T>
image<T> modifier_as(const command& c) {
  static_assert(T::bytes == sizeof c.input_modifier);
  image<T> m;
  store_be<std::uint32_t>(m.data(), c.input_modifier);
  return m;
}

}  // namespace

ethernet_port* ports::named_ethernet(command_checks& is, std::uint64_t number) const {
  if (named(is, number) == nullptr) return nullptr;
  ethernet_port* p = ethernet(static_cast<unsigned>(number));
  is.must(p != nullptr, rule::known_operation, command_status::bad_operation,
          "port %u is InfiniBand", static_cast<unsigned>(number));
  return p;
}

command_status ports::set_ethernet_port(command& c) {
  constexpr unsigned port_bits = 8;
  constexpr std::uint32_t port_mask = (1u << port_bits) - 1;
  command_checks is(a_.rules);
  const auto number = static_cast<unsigned>(c.input_modifier & port_mask);
  if (c.opcode_modifier == static_cast<unsigned>(set_port_modifier::beacon)) {
    ethernet_port* p = named_ethernet(is, number);
    if (is.refused()) return is.status();
    is.at_most(rule::input_modifier, "input modifier", c.input_modifier, port_mask);
    set_beacon(is, c, p->told());
    return is.status();
  }
  if (named(is, number) == nullptr) return is.status();
  ethernet_port* p = ports_[number - 1].ethernet.get();
  check_type(is, number, p, "InfiniBand");
  if (is.refused()) return is.status();
  is.at_most(rule::input_modifier, "input modifier", c.input_modifier, 0xffff);
  const auto selector = static_cast<set_port_selector>(c.input_modifier >> port_bits & 0xff);
  const bool of_classes =
      selector == set_port_selector::prio2tc || selector == set_port_selector::scheduler;
  is.must(!of_classes || offers(a_.how, capability::traffic_classes), rule::known_operation,
          command_status::bad_operation, "input modifier: selector 0x%x",
          static_cast<unsigned>(selector));
  if (is.refused()) return is.status();
  model::set_ethernet_port(is, c, selector, p->told());
  if (is.refused()) return is.status();
  become(number, *p);
  if (of_classes) p->classes_told();
  return is.status();
}

command_status ports::set_vlan_fltr(command& c) {
  constexpr unsigned vlans_of_word = 32;
  command_checks is(a_.rules);
  ethernet_port* p = named_ethernet(is, c.input_modifier);
  if (is.refused()) return is.status();
  std::array<std::byte, vlan_filter_words * vlan_filter_word::bytes> words{};
  is.was_read(c.memory->read(c.input_parameter, words.data(), words.size()), c);
  if (is.refused()) return is.status();
  ethernet_settings& told = p->told();
  told.filters_vlans = true;
  for (unsigned vid = 0; vid < vlan_ids; ++vid) {
    const vlan_filter_place at = vlan_filter_place_of(vid);
    const auto word =
        image<vlan_filter_word>::from_bytes(words.data() + at.word * vlan_filter_word::bytes);
    static_assert(vlan_ids == vlan_filter_words * vlans_of_word);
    told.vlans_let_in.set(vid, (word.get<&vlan_filter_word::vlans>() >> at.bit & 1) != 0);
  }
  return is.status();
}

command_status ports::set_mcast_fltr(command& c) {
  using l = multicast_filter;
  command_checks is(a_.rules);
  ethernet_port* p = named_ethernet(is, c.input_modifier);
  if (is.refused()) return is.status();
  ethernet_settings& told = p->told();
  const auto what = static_cast<set_mcast_fltr_modifier>(c.opcode_modifier);
  if (what != set_mcast_fltr_modifier::config) {
    told.filters_multicast = what == set_mcast_fltr_modifier::enable;
    return is.status();
  }
  image<l> in;
  store_be<std::uint64_t>(in.data(), c.input_parameter);
  const std::uint64_t mac = in.get<&l::mac>();
  const bool clear = in.get<&l::clear>();
  const std::size_t kept = clear ? 0 : told.multicast_let_in.size();
  is.no_reserved_bits(in, "immediate input")
      .that(mac == 0 || (mac >> 40 & 1) != 0, rule::port_setting, command_status::bad_parameter,
            "mac 0x%llx; a multicast address, or zero", static_cast<unsigned long long>(mac))
      .must(mac == 0 || kept < multicast_addresses_most || told.multicast_let_in.contains(mac),
            rule::objects_at_once, command_status::exceeds_limits,
            "mac 0x%llx: %zu addresses are let in; at most %zu",
            static_cast<unsigned long long>(mac), kept, multicast_addresses_most);
  if (is.refused()) return is.status();
  if (clear) told.multicast_let_in.clear();
  if (mac != 0) told.multicast_let_in.insert(mac);
  return is.status();
}

command_status ports::dump_eth_stats(command& c) {
  using l = dump_eth_stats_modifier;
  const auto asked = modifier_as<l>(c);
  command_checks is(a_.rules);
  ethernet_port* p = named_ethernet(is, asked.get<&l::port>());
  is.no_reserved_bits(asked, "input modifier");
  if (is.refused()) return is.status();
  if (asked.get<&l::flow_control>()) {
    // Pause is not modelled: none is ever sent, and none is obeyed.
    constexpr unsigned priorities = 8;
    const std::array<std::byte, priorities * pause_statistics::bytes> none{};
    is.was_written(c.memory->write(c.output_parameter, none.data(), none.size()), c);
    return is.status();
  }
  is.answer(c, p->counters().table());
  if (!is.refused() && asked.get<&l::reset>()) p->counters().clear();
  return is.status();
}

command_status ports::query_if_stat(command& c) {
  using l = query_if_stat_modifier;
  const auto asked = modifier_as<l>(c);
  const auto index = static_cast<unsigned>(asked.get<&l::index>());
  command_checks is(a_.rules);
  is.must(index < interface_counters::count, rule::number_in_table, command_status::bad_index,
          "input modifier: counter %u; there are %u", index, interface_counters::count)
      .no_reserved_bits(asked, "input modifier");
  if (is.refused()) return is.status();
  const interface_counters::counter& counted = counters_by_index_.at(index);
  image<interface_counter> out;
  out.set<&interface_counter::num_interfaces>(1)
      .set<&interface_counter::rx_frames>(counted.received_frames)
      .set<&interface_counter::rx_bytes>(counted.received_bytes)
      .set<&interface_counter::tx_frames>(counted.sent_frames)
      .set<&interface_counter::tx_bytes>(counted.sent_bytes);
  is.answer(c, out);
  if (!is.refused() && asked.get<&l::reset>()) counters_by_index_.clear(index);
  return is.status();
}

}  // namespace freehca::model
