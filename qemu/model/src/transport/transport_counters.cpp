// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/transport_counters.hpp"

namespace freehca::model {

transport_counters::transport_counters(counter_registry& to) : census(to) {
  to.add("transport_packets_sent", packets_sent);
  to.add("transport_packets_received", packets_received);
  to.add("transport_packets_dropped", packets_dropped);
  to.add("transport_retries", retries);
  to.add("transport_rnr_waits", rnr_waits);
  to.add("transport_duplicates", duplicates);
  to.add("transport_timeouts", timeouts);
  to.add("transport_sequence_naks", sequence_naks);
  to.add("transport_out_of_sequence", out_of_sequence);
  to.add("transport_rnr_naks_sent", rnr_naks_sent);
  to.add("transport_unsent_answered", unsent_answered);
  to.add("datagrams_without_receive", datagrams_dropped);
}

}  // namespace freehca::model
