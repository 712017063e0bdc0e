// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include "verbs_rig.hpp"

namespace freehca::testing {

/// Everything that a device and its objects count, so that two moments can be compared.
inline std::vector<std::uint64_t> counts(verbs_rig& rig) {
  const device_holdings d = rig.adapter.holdings();
  const verbs_holdings v = rig.objects.holdings();
  return {d.pages,
          d.mappings,
          d.slots,
          d.numbers,
          d.doorbells,
          d.pages_in_doubt,
          d.mappings_in_doubt,
          d.numbers_in_doubt,
          d.buffers_in_doubt,
          d.mailboxes_in_doubt,
          d.slots_in_doubt,
          rig.objects.held<protection_domain>(),
          rig.objects.held<memory_region>(),
          rig.objects.held<fast_memory_region>(),
          rig.objects.held<dma_memory_region>(),
          rig.objects.held<memory_window>(),
          rig.objects.held<completion_queue>(),
          rig.objects.held<queue_pair>(),
          rig.objects.held<counting_completion_queue>(),
          rig.objects.held<resizable_completion_queue>(),
          rig.objects.held<completion_ring>(),
          rig.objects.held<shared_receive_queue>(),
          rig.objects.held<address_handle>(),
          rig.objects.held<xrc_domain>(),
          rig.objects.held<xrc_completion_queue>(),
          rig.objects.held<extended_completion_queue>(),
          rig.objects.held<xrc_receive_queue>(),
          rig.objects.held<xrc_queue_pair>(),
          rig.objects.held<raw_ethernet_queue_pair>(),
          rig.objects.held<multicast_table>(),
          rig.objects.held<group_membership>(),
          rig.objects.held<receive_queue_range>(),
          rig.objects.held<receive_work_queue>(),
          rig.objects.held<rss_queue_pair>(),
          rig.objects.held<packet_counter>(),
          rig.objects.held<flow_rule>(),
          rig.objects.held<special_queue_pairs>(),
          rig.objects.held<management_queue_pair>(),
          v.in_doubt,
          v.request_bytes};
}

}  // namespace freehca::testing
