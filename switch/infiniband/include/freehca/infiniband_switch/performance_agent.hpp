// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <span>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/pma.hpp>
#include <freehca/packets/mad_packet.hpp>

#include <freehca/infiniband_switch/switch_port.hpp>

namespace freehca::infiniband_switch {

/// What stands behind QP1 of port 0: the performance management agent of all ports (IBTA vol. 1,
/// 16.1), with ClassPortInfo, PortCounters and PortCountersExtended; port 255 stands for all of
/// them. It does not sample.
class performance_agent {
 public:
  /// Port 0 and those for cables, which must outlive the agent.
  explicit performance_agent(std::span<switch_port> ports) : ports_(ports) {}

  /// True: `mad` has become the answer. False: it is dropped. A class that is not there is answered
  /// by its status (IBTA vol. 1, 13.4.7).
  bool process(packets::mad_buffer& mad);

 private:
  using pma_mad = layouts::pma_mad;
  std::uint16_t answer(layouts::image<pma_mad>& m, bool is_set);
  std::uint16_t port_counters(layouts::image<pma_mad>& m, bool is_set);
  std::uint16_t extended_counters(layouts::image<pma_mad>& m, bool is_set);
  /// None: there is no such port.
  std::span<switch_port> selected(std::uint64_t port_select) const;

  std::span<switch_port> ports_;
};

}  // namespace freehca::infiniband_switch
