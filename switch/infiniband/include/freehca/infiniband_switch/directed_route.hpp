// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/mad.hpp>

namespace freehca::infiniband_switch {

/// Where a directed-route packet goes from here.
struct route_step {
  enum class kind : std::uint8_t {
    discard,    ///< the route makes no sense, or is not this switch's
    forward,    ///< out of `port`, with permissive LIDs
    here,       ///< to the switch's own agent
    by_lid,     ///< the directed part is over: the forwarding table leads on, to `lid`
    to_manager  ///< an answer for a subnet manager on this switch: there is none
  };
  kind what = kind::discard;
  unsigned port = 0;
  std::uint16_t lid = 0;
};

/// How a packet has come: with permissive LIDs, or by the LID of this switch, before its directed
/// part or behind it.
enum class route_part : std::uint8_t { directed, by_lid };

/// A packet with directed route has come in by port `ingress` to a switch of `ports` ports whose
/// LID is `own_lid`; its hop pointer and return path are brought up to date. The rules are those of
/// IBTA vol. 1, 14.2.2: C14-9 for requests, C14-13 for answers; Linux
/// drivers/infiniband/core/smi.c (smi_handle_dr_smp_recv, smi_handle_dr_smp_send) has the same.
route_step route_arrival(layouts::image<layouts::dr_smp>& m, unsigned ingress, unsigned ports,
                         std::uint16_t own_lid, route_part came);

/// Turns a request that was answered here round (C14-10, C14-13). `requester` is the SLID of the
/// request's packet: where its directed part had ended before it came here, the answer goes there.
route_step route_answer(layouts::image<layouts::dr_smp>& m, unsigned ports,
                        std::uint16_t requester);

}  // namespace freehca::infiniband_switch
