// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/performance_agent.hpp"

#include <algorithm>

namespace freehca::model {

using namespace layouts;

namespace {

// CX-3: 0x1400 (captures).
constexpr std::uint16_t capability_mask =
    pma_capability::extended_width_no_ietf | pma_capability::xmit_wait;
// no source: chosen (4.096 us * 2^16, as the port's own response time)
constexpr unsigned response_time = 16;

/// counter_select of PortCountersExtended: bits in the order of the rows. Without the IETF counters
/// there are the first four.
constexpr unsigned ext_xmit_data = 1, ext_rcv_data = 2, ext_xmit_packets = 4, ext_rcv_packets = 8;

}  // namespace

mad_result performance_agent::process(mad_buffer& mad) {
  auto m = image<pma_mad>::from_bytes(mad.data());
  const mad_method method = m.get<&pma_mad::method>();
  if (m.get<&pma_mad::base_version>() != mad_base_version ||
      m.get<&pma_mad::mgmt_class>() != mad_class::performance ||
      (method != mad_method::get && method != mad_method::set))
    return mad_result::discarded;
  const std::uint16_t status = m.get<&pma_mad::class_version>() == 1
                                   ? answer(m, method == mad_method::set)
                                   : mad_status::bad_version;
  m.set<&pma_mad::method>(mad_method::get_resp).set<&pma_mad::status>(status);
  std::copy_n(m.data(), mad.size(), mad.begin());
  return mad_result::answered;
}

std::uint16_t performance_agent::answer(image<pma_mad>& m, bool is_set) {
  switch (static_cast<pma_attribute>(m.get<&pma_mad::attribute_id>())) {
    case pma_attribute::class_port_info:
      // The trap fields that a Set would write are of no use: this agent sends none.
      if (is_set) return mad_status::unsupported_method_attribute;
      set_attribute<&pma_mad::data>(m, image<class_port_info>{}
                                           .set<&class_port_info::base_version>(mad_base_version)
                                           .set<&class_port_info::class_version>(1)
                                           .set<&class_port_info::capability_mask>(capability_mask)
                                           .set<&class_port_info::resp_time>(response_time));
      return mad_status::success;
    case pma_attribute::port_counters: {
      const auto wanted = attribute<&pma_mad::data, port_counters>(m);
      if (!selects_this_port(wanted.get<&port_counters::port_select>()))
        return mad_status::invalid_attribute_value;
      if (is_set) set_counters(wanted);
      auto now = counters();
      now.set<&port_counters::port_select>(wanted.get<&port_counters::port_select>());
      set_attribute<&pma_mad::data>(m, now);
      return mad_status::success;
    }
    case pma_attribute::port_counters_ext: {
      const auto wanted = attribute<&pma_mad::data, port_counters_ext>(m);
      if (!selects_this_port(wanted.get<&port_counters_ext::port_select>()))
        return mad_status::invalid_attribute_value;
      if (is_set) set_extended_counters(wanted);
      auto now = extended_counters();
      now.set<&port_counters_ext::port_select>(wanted.get<&port_counters_ext::port_select>());
      set_attribute<&pma_mad::data>(m, now);
      return mad_status::success;
    }
    case pma_attribute::port_samples_control: {
      const auto wanted = attribute<&pma_mad::data, port_samples_control>(m);
      if (!selects_this_port(wanted.get<&port_samples_control::port_select>()))
        return mad_status::invalid_attribute_value;
      if (is_set) sampler_.set(wanted);
      set_attribute<&pma_mad::data>(m, sampler_.settings());
      return mad_status::success;
    }
    case pma_attribute::port_samples_result:
      // It names no port, and is read alone (IBTA vol. 1, 16.1.3.3).
      if (is_set) return mad_status::unsupported_method_attribute;
      set_attribute<&pma_mad::data>(m, sampler_.counted());
      return mad_status::success;
    default:
      return mad_status::unsupported_method_attribute;
  }
}

bool performance_agent::selects_this_port(std::uint64_t port_select) const {
  // AllPortSelect (255) is not among the capabilities.
  return port_select == port_.info.get<&port_info::local_port_num>();
}

image<port_counters> performance_agent::counters() const {
  const traffic_counters& t = port_.traffic;
  return image<port_counters>{}
      .set<&port_counters::link_downed>(t.link_downed.narrow(8))
      .set<&port_counters::rcv_errors>(t.rcv_errors.narrow(16))
      .set<&port_counters::xmit_discards>(t.xmit_discards.narrow(16))
      .set<&port_counters::vl15_dropped>(t.vl15_dropped.narrow(16))
      .set<&port_counters::xmit_data>(t.xmit_data.narrow(32))
      .set<&port_counters::rcv_data>(t.rcv_data.narrow(32))
      .set<&port_counters::xmit_packets>(t.xmit_packets.narrow(32))
      .set<&port_counters::rcv_packets>(t.rcv_packets.narrow(32));
}

void performance_agent::set_counters(const image<port_counters>& wanted) {
  traffic_counters& t = port_.traffic;
  const auto select = wanted.get<&port_counters::counter_select>();
  const auto set = [select](std::uint16_t bit, dual_counter& c, std::uint64_t value) {
    if ((select & bit) != 0) c.set_narrow(value);
  };
  set(counter_select::link_downed, t.link_downed, wanted.get<&port_counters::link_downed>());
  set(counter_select::rcv_errors, t.rcv_errors, wanted.get<&port_counters::rcv_errors>());
  set(counter_select::xmit_discards, t.xmit_discards, wanted.get<&port_counters::xmit_discards>());
  set(counter_select::vl15_dropped, t.vl15_dropped, wanted.get<&port_counters::vl15_dropped>());
  set(counter_select::xmit_data, t.xmit_data, wanted.get<&port_counters::xmit_data>());
  set(counter_select::rcv_data, t.rcv_data, wanted.get<&port_counters::rcv_data>());
  set(counter_select::xmit_packets, t.xmit_packets, wanted.get<&port_counters::xmit_packets>());
  set(counter_select::rcv_packets, t.rcv_packets, wanted.get<&port_counters::rcv_packets>());
}

image<port_counters_ext> performance_agent::extended_counters() const {
  const traffic_counters& t = port_.traffic;
  return image<port_counters_ext>{}
      .set<&port_counters_ext::xmit_data>(t.xmit_data.wide())
      .set<&port_counters_ext::rcv_data>(t.rcv_data.wide())
      .set<&port_counters_ext::xmit_packets>(t.xmit_packets.wide())
      .set<&port_counters_ext::rcv_packets>(t.rcv_packets.wide());
}

void performance_agent::set_extended_counters(const image<port_counters_ext>& wanted) {
  traffic_counters& t = port_.traffic;
  const auto select = wanted.get<&port_counters_ext::counter_select>();
  if ((select & ext_xmit_data) != 0)
    t.xmit_data.set_wide(wanted.get<&port_counters_ext::xmit_data>());
  if ((select & ext_rcv_data) != 0) t.rcv_data.set_wide(wanted.get<&port_counters_ext::rcv_data>());
  if ((select & ext_xmit_packets) != 0)
    t.xmit_packets.set_wide(wanted.get<&port_counters_ext::xmit_packets>());
  if ((select & ext_rcv_packets) != 0)
    t.rcv_packets.set_wide(wanted.get<&port_counters_ext::rcv_packets>());
}

}  // namespace freehca::model
