// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/packets/dual_counter.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

using packets::dual_counter;

/// What a port counts. Data are 4-byte words from the LRH to the ICRC.
struct traffic_counters {
  dual_counter xmit_data, rcv_data, xmit_packets, rcv_packets;
  dual_counter link_downed, rcv_errors, xmit_discards, vl15_dropped;

  using saved = saving::fields<&traffic_counters::xmit_data, &traffic_counters::rcv_data,
                               &traffic_counters::xmit_packets, &traffic_counters::rcv_packets,
                               &traffic_counters::link_downed, &traffic_counters::rcv_errors,
                               &traffic_counters::xmit_discards, &traffic_counters::vl15_dropped>;
};

}  // namespace freehca::model
