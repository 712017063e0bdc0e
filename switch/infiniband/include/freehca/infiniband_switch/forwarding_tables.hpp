// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/layouts/forwarding.hpp>
#include <freehca/layouts/ib_types.hpp>

#include <freehca/infiniband_switch/switch_port.hpp>

namespace freehca::infiniband_switch {

/// A set of ports; bit n is port n.
using port_mask = std::uint64_t;

/// SwitchInfo and the tables that it speaks of.
class forwarding_tables {
 public:
  /// Every unicast LID; as many multicast LIDs as OpenSM hands out for some thousand groups. no
  /// source: chosen
  static constexpr unsigned unicast_lids = layouts::first_multicast_lid, multicast_lids = 4096;

  forwarding_tables();

  layouts::image<layouts::switch_info>& info() { return info_; }
  const layouts::image<layouts::switch_info>& info() const { return info_; }

  /// The port that a unicast LID leads to; `forwards_nowhere`: none.
  unsigned port_of(std::uint16_t lid) const;
  /// The ports of a multicast LID for a packet that came in by `ingress` (IBTA vol. 1, 18.2.4.3.3).
  port_mask ports_of(std::uint16_t lid, unsigned ingress) const;

  // As subnet management sees the tables. False: there is no such block.
  bool read_linear(std::uint64_t modifier,
                   layouts::image<layouts::linear_forwarding_block>& to) const;
  bool write_linear(std::uint64_t modifier,
                    const layouts::image<layouts::linear_forwarding_block>& from);
  bool read_multicast(std::uint64_t modifier,
                      layouts::image<layouts::multicast_forwarding_block>& to) const;
  bool write_multicast(std::uint64_t modifier,
                       const layouts::image<layouts::multicast_forwarding_block>& from);

 private:
  layouts::image<layouts::switch_info> info_;
  std::vector<std::uint8_t> linear_;
  std::vector<port_mask> multicast_;
};

}  // namespace freehca::infiniband_switch
