// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/layouts/pma.hpp>

#include "fabric/mad_packet.hpp"
#include "fabric/managed_port.hpp"
#include "fabric/management_agent.hpp"
#include "fabric/port_sampler.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The performance management agent of one port (IBTA vol. 1, 16.1): ClassPortInfo,
/// PortSamplesControl and PortSamplesResult, PortCounters and PortCountersExtended.
class performance_agent {
 public:
  /// `port` and `work` outlive the agent. `owner` names the owner of the agent where scheduled work
  /// is listed.
  performance_agent(managed_port& port, scheduler& work, const std::string& owner)
      : port_(port), sampler_(port, work, owner) {}

  mad_result process(mad_buffer& mad);
  void clear() { sampler_.clear(); }

 private:
  using pma_mad = layouts::pma_mad;
  std::uint16_t answer(layouts::image<pma_mad>& m, bool is_set);
  bool selects_this_port(std::uint64_t port_select) const;
  layouts::image<layouts::port_counters> counters() const;
  layouts::image<layouts::port_counters_ext> extended_counters() const;
  void set_counters(const layouts::image<layouts::port_counters>& wanted);
  void set_extended_counters(const layouts::image<layouts::port_counters_ext>& wanted);

  managed_port& port_;
  port_sampler sampler_;

 public:
  using saved = saving::fields<&performance_agent::sampler_>;
};

}  // namespace freehca::model
