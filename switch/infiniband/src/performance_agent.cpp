// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/performance_agent.hpp>

#include <algorithm>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

using packets::dual_counter;

/// One of PortCounters: its bit of counter_select, its width, and how it is read and written.
struct narrow_counter {
  std::uint16_t select;
  unsigned width;
  dual_counter port_counts::*counter;
  std::uint64_t (*read)(const image<port_counters>&);
  void (*write)(image<port_counters>&, std::uint64_t);
};
template <auto M>
constexpr narrow_counter narrow(std::uint16_t select, unsigned width,
                                dual_counter port_counts::*counter) {
  return {select, width, counter,
          [](const image<port_counters>& i) -> std::uint64_t { return i.get<M>(); },
          [](image<port_counters>& i, std::uint64_t v) { i.set<M>(v); }};
}

struct wide_counter {
  dual_counter port_counts::*counter;
  std::uint64_t (*read)(const image<port_counters_ext>&);
  void (*write)(image<port_counters_ext>&, std::uint64_t);
};
template <auto M>
constexpr wide_counter wide(dual_counter port_counts::*counter) {
  return {counter, [](const image<port_counters_ext>& i) -> std::uint64_t { return i.get<M>(); },
          [](image<port_counters_ext>& i, std::uint64_t v) { i.set<M>(v); }};
}

using pc = port_counters;
using pce = port_counters_ext;
constexpr narrow_counter narrow_counters[] = {
    narrow<&pc::link_downed>(counter_select::link_downed, 8, &port_counts::link_downed),
    narrow<&pc::rcv_errors>(counter_select::rcv_errors, 16, &port_counts::rcv_errors),
    narrow<&pc::rcv_switch_relay>(counter_select::rcv_switch_relay, 16,
                                  &port_counts::rcv_switch_relay),
    narrow<&pc::xmit_discards>(counter_select::xmit_discards, 16, &port_counts::xmit_discards),
    narrow<&pc::xmit_constraint>(counter_select::xmit_constraint, 8, &port_counts::xmit_constraint),
    narrow<&pc::rcv_constraint>(counter_select::rcv_constraint, 8, &port_counts::rcv_constraint),
    narrow<&pc::vl15_dropped>(counter_select::vl15_dropped, 16, &port_counts::vl15_dropped),
    narrow<&pc::xmit_data>(counter_select::xmit_data, 32, &port_counts::xmit_data),
    narrow<&pc::rcv_data>(counter_select::rcv_data, 32, &port_counts::rcv_data),
    narrow<&pc::xmit_packets>(counter_select::xmit_packets, 32, &port_counts::xmit_packets),
    narrow<&pc::rcv_packets>(counter_select::rcv_packets, 32, &port_counts::rcv_packets)};
/// Bit n of counter_select is row n.
constexpr wide_counter wide_counters[] = {
    wide<&pce::xmit_data>(&port_counts::xmit_data),
    wide<&pce::rcv_data>(&port_counts::rcv_data),
    wide<&pce::xmit_packets>(&port_counts::xmit_packets),
    wide<&pce::rcv_packets>(&port_counts::rcv_packets),
    wide<&pce::unicast_xmit_packets>(&port_counts::unicast_xmit),
    wide<&pce::unicast_rcv_packets>(&port_counts::unicast_rcv),
    wide<&pce::multicast_xmit_packets>(&port_counts::multicast_xmit),
    wide<&pce::multicast_rcv_packets>(&port_counts::multicast_rcv)};

constexpr unsigned all_ports = 255;
// no source: chosen (4.096 us * 2^16, as the adapters' agents)
constexpr unsigned response_time = 16;

}  // namespace

bool performance_agent::process(packets::mad_buffer& mad) {
  auto m = image<pma_mad>::from_bytes(mad.data());
  const mad_method method = m.get<&pma_mad::method>();
  if (m.get<&pma_mad::base_version>() != mad_base_version ||
      (method != mad_method::get && method != mad_method::set))
    return false;
  const bool known = m.get<&pma_mad::mgmt_class>() == mad_class::performance &&
                     m.get<&pma_mad::class_version>() == 1;
  const std::uint16_t status =
      known ? answer(m, method == mad_method::set) : mad_status::bad_version;
  m.set<&pma_mad::method>(mad_method::get_resp).set<&pma_mad::status>(status);
  std::copy_n(m.data(), mad.size(), mad.begin());
  return true;
}

std::uint16_t performance_agent::answer(image<pma_mad>& m, bool is_set) {
  switch (static_cast<pma_attribute>(m.get<&pma_mad::attribute_id>())) {
    case pma_attribute::class_port_info:
      // The trap fields that a Set would write are of no use: this agent sends none.
      if (is_set) return mad_status::unsupported_method_attribute;
      set_attribute<&pma_mad::data>(
          m, image<class_port_info>{}
                 .set<&class_port_info::base_version>(mad_base_version)
                 .set<&class_port_info::class_version>(1)
                 .set<&class_port_info::capability_mask>(pma_capability::all_port_select |
                                                         pma_capability::extended_width)
                 .set<&class_port_info::resp_time>(response_time));
      return mad_status::success;
    case pma_attribute::port_counters:
      return port_counters(m, is_set);
    case pma_attribute::port_counters_ext:
      return extended_counters(m, is_set);
    default:
      return mad_status::unsupported_method_attribute;
  }
}

std::span<switch_port> performance_agent::selected(std::uint64_t port_select) const {
  if (port_select == all_ports) return ports_;
  return port_select < ports_.size() ? ports_.subspan(port_select, 1) : std::span<switch_port>{};
}

std::uint16_t performance_agent::port_counters(image<pma_mad>& m, bool is_set) {
  const auto wanted = attribute<&pma_mad::data, pc>(m);
  const auto ports = selected(wanted.get<&pc::port_select>());
  if (ports.empty()) return mad_status::invalid_attribute_value;
  image<pc> now;
  now.set<&pc::port_select>(wanted.get<&pc::port_select>());
  for (const narrow_counter& one : narrow_counters) {
    const bool selects = (wanted.get<&pc::counter_select>() & one.select) != 0;
    std::uint64_t sum = 0;
    for (switch_port& port : ports) {
      dual_counter& counter = port.counts.*one.counter;
      if (is_set && selects) counter.set_narrow(one.read(wanted));
      sum += counter.narrow(one.width);
    }
    one.write(now, std::min(sum, (std::uint64_t{1} << one.width) - 1));
  }
  set_attribute<&pma_mad::data>(m, now);
  return mad_status::success;
}

std::uint16_t performance_agent::extended_counters(image<pma_mad>& m, bool is_set) {
  const auto wanted = attribute<&pma_mad::data, pce>(m);
  const auto ports = selected(wanted.get<&pce::port_select>());
  if (ports.empty()) return mad_status::invalid_attribute_value;
  image<pce> now;
  now.set<&pce::port_select>(wanted.get<&pce::port_select>());
  unsigned bit = 1;
  for (const wide_counter& one : wide_counters) {
    const bool selects = (wanted.get<&pce::counter_select>() & bit) != 0;
    bit <<= 1;
    std::uint64_t sum = 0;
    for (switch_port& port : ports) {
      dual_counter& counter = port.counts.*one.counter;
      if (is_set && selects) counter.set_wide(one.read(wanted));
      sum += counter.wide();
    }
    one.write(now, sum);
  }
  set_attribute<&pma_mad::data>(m, now);
  return mad_status::success;
}

}  // namespace freehca::infiniband_switch
