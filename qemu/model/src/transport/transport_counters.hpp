// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "basis/counters.hpp"
#include "link/packet_census.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// What the transport counts, by the names that QMP and the tests read.
struct transport_counters {
  explicit transport_counters(counter_registry& to);
  // The registry keeps addresses of what stands here.
  transport_counters(const transport_counters&) = delete;
  transport_counters& operator=(const transport_counters&) = delete;

  packet_census census;
  std::uint64_t packets_sent = 0, packets_received = 0, packets_dropped = 0;
  std::uint64_t retries = 0, datagrams_dropped = 0;
  std::uint64_t unsent_answered = 0;  ///< answers to PSNs that were not sent
  counter_by_port rnr_waits, duplicates, timeouts, sequence_naks, out_of_sequence, rnr_naks_sent;

  using saved =
      saving::fields<&transport_counters::census, &transport_counters::packets_sent,
                     &transport_counters::packets_received, &transport_counters::packets_dropped,
                     &transport_counters::retries, &transport_counters::datagrams_dropped,
                     &transport_counters::unsent_answered, &transport_counters::rnr_waits,
                     &transport_counters::duplicates, &transport_counters::timeouts,
                     &transport_counters::sequence_naks, &transport_counters::out_of_sequence,
                     &transport_counters::rnr_naks_sent>;
};

}  // namespace freehca::model
