// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/pma.hpp>

#include "mad_packet.hpp"
#include "managed_port.hpp"
#include "management_agent.hpp"

namespace freehca::model {

/// The performance management agent of one port (IBTA vol. 1, 16.1): ClassPortInfo, PortCounters and
/// PortCountersExtended.
class performance_agent {
 public:
  /// `port` must outlive the agent.
  explicit performance_agent(managed_port& port) : port_(port) {}

  mad_result process(mad_buffer& mad);

 private:
  using pma_mad = layouts::pma_mad;
  std::uint16_t answer(layouts::image<pma_mad>& m, bool is_set);
  bool selects_this_port(std::uint64_t port_select) const;
  layouts::image<layouts::port_counters> counters() const;
  layouts::image<layouts::port_counters_ext> extended_counters() const;
  void set_counters(const layouts::image<layouts::port_counters>& wanted);
  void set_extended_counters(const layouts::image<layouts::port_counters_ext>& wanted);

  managed_port& port_;
};

}  // namespace freehca::model
