// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/computed_qpn.hpp"

namespace freehca::model {

using namespace layouts;

// Both drivers have n_vlan and n_prio 0, so that VLAN and priority change no number. All else is
// chosen: docs/hardware-ethernet.md.
std::optional<std::uint32_t> computed_qpn(const image<set_port_rqp_calc>& numbers,
                                          const frame_headers& frame,
                                          std::optional<unsigned> mac_index) {
  using n = set_port_rqp_calc;
  const auto known = [](std::uint64_t qpn) -> std::optional<std::uint32_t> {
    // Nobody has queue pair 0: the port was not told.
    if (qpn == 0) return std::nullopt;
    return static_cast<std::uint32_t>(qpn);
  };
  if (frame.multicast()) return known(numbers.get<&n::mcast_qpn>());
  if (!mac_index) {
    if (!numbers.get<&n::promisc>()) return std::nullopt;
    return known(numbers.get<&n::promisc_qpn>());
  }
  const std::uint64_t base = numbers.get<&n::base_qpn>();
  const unsigned counted = (1u << numbers.get<&n::n_mac>()) - 1;
  return base == 0 ? std::nullopt : known(base | (*mac_index & counted));
}

}  // namespace freehca::model
