// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Directed routes as an end node treats them (IBTA vol. 1, 14.2.2; the same rules in Linux 6.1
// drivers/infiniband/core/smi.c).
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/mad.hpp>

namespace freehca::model {

inline constexpr unsigned greatest_hop_count = 63;

/// A request has come in by port `port`. False: it is not for this node, or the route makes no
/// sense. On true the hop pointer and the return path say that the route has ended here.
inline bool ends_here(layouts::image<layouts::dr_smp>& m, unsigned port) {
  using layouts::dr_smp;
  const auto count = m.get<&dr_smp::hop_count>();
  const auto pointer = m.get<&dr_smp::hop_pointer>();
  if (m.get<&dr_smp::direction>() || count > greatest_hop_count || pointer != count) return false;
  // From here on a request with a LID would be routed by it: an end node does not forward.
  if (m.get<&dr_smp::dr_dlid>() != layouts::permissive_lid) return false;
  if (count != 0) m.data()[dr_smp{}.return_path.offset + count] = static_cast<std::byte>(port);
  m.set<&dr_smp::hop_pointer>(pointer + 1);
  return true;
}

/// Turns an answered request round and takes its first hop back. Returns the DLID of its packet.
inline std::uint16_t turn_round(layouts::image<layouts::dr_smp>& m) {
  using layouts::dr_smp;
  const auto count = m.get<&dr_smp::hop_count>();
  m.set<&dr_smp::direction>(true).set<&dr_smp::hop_pointer>(count);
  return static_cast<std::uint16_t>(count == 0 ? m.get<&dr_smp::dr_slid>()
                                               : layouts::permissive_lid);
}

/// An answer has come back: is its route at its end?
inline bool has_returned(const layouts::image<layouts::dr_smp>& m) {
  using layouts::dr_smp;
  const unsigned expected = m.get<&dr_smp::hop_count>() == 0 ? 0 : 1;
  return m.get<&dr_smp::direction>() && m.get<&dr_smp::hop_pointer>() == expected;
}

}  // namespace freehca::model
