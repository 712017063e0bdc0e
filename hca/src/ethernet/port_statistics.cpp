// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/port_statistics.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

namespace freehca {

void port_statistics_query::start(device& adapter, unsigned port, bool reset) {
  if (!startable()) return;
  const status s = adapter.check_ethernet(port);
  if (!s.ok()) return adapter.control_.reactor.refuse(*this, s);
  aim(std::uint32_t{port}, reset);
  adapter.commands().submit(*this);
}

std::uint64_t port_statistics_query::counter(const layouts::statistics_group& group,
                                             unsigned traffic_class) const {
  FREEHCA_ASSERT(traffic_class < group.classes);
  return traffic_class < group.classes
             ? layouts::load_be<std::uint64_t>(output.data() + group.of(traffic_class))
             : 0;
}

std::uint64_t port_statistics_query::sum(const layouts::statistics_group& group) const {
  std::uint64_t all = 0;
  for (unsigned i = 0; i <= layouts::statistics_no_vlan; ++i) all += counter(group, i);
  return all;
}

ethernet_counters port_statistics_query::counters() const {
  using l = layouts::ethernet_statistics;
  namespace s = layouts::statistics;
  ethernet_counters c;
  c.rx_crc_errors = output.get<&l::rx_crc_errors>();
  c.rx_dropped = output.get<&l::rx_dropped>();
  c.rx_overflow = output.get<&l::rx_overflow>();
  c.rx_dropped_length = output.get<&l::rx_dropped_length>();
  c.tx_dropped = output.get<&l::tx_dropped>();
  static constexpr struct {
    std::uint64_t ethernet_counters::*member;
    layouts::statistics_group group;
  } sums[] = {{&ethernet_counters::rx_frames, s::rx_frames},
              {&ethernet_counters::rx_bytes, s::rx_octets},
              {&ethernet_counters::rx_unicast, s::rx_unicast},
              {&ethernet_counters::rx_multicast, s::rx_multicast},
              {&ethernet_counters::rx_broadcast, s::rx_broadcast},
              {&ethernet_counters::rx_giants, s::rx_giant},
              {&ethernet_counters::tx_frames, s::tx_frames},
              {&ethernet_counters::tx_bytes, s::tx_octets},
              {&ethernet_counters::tx_unicast, s::tx_unicast},
              {&ethernet_counters::tx_multicast, s::tx_multicast},
              {&ethernet_counters::tx_broadcast, s::tx_broadcast}};
  for (const auto& entry : sums) c.*entry.member = sum(entry.group);
  return c;
}

}  // namespace freehca
