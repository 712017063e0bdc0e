// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/packets/dual_counter.hpp>

namespace freehca::model {

using packets::dual_counter;

/// What a port counts. Data are 4-byte words from the LRH to the ICRC.
struct traffic_counters {
  dual_counter xmit_data, rcv_data, xmit_packets, rcv_packets;
  dual_counter link_downed, rcv_errors, xmit_discards, vl15_dropped;
};

}  // namespace freehca::model
