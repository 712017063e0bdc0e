// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list of all kinds of objects, for programs that use most of them.
#pragma once

#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/hca/kinds/completion_queue.hpp>
#include <freehca/hca/kinds/counting_completion_queue.hpp>
#include <freehca/hca/kinds/dma_memory_region.hpp>
#include <freehca/hca/kinds/extended_completion_queue.hpp>
#include <freehca/hca/kinds/fast_memory_region.hpp>
#include <freehca/hca/kinds/flow_rule.hpp>
#include <freehca/hca/kinds/management_queue_pair.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/memory_window.hpp>
#include <freehca/hca/kinds/multicast.hpp>
#include <freehca/hca/kinds/packet_counter.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/kinds/queue_pair_changes.hpp>
#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>
#include <freehca/hca/kinds/receive_work_queue.hpp>
#include <freehca/hca/kinds/resizable_completion_queue.hpp>
#include <freehca/hca/kinds/rss_queue_pair.hpp>
#include <freehca/hca/kinds/shared_receive_queue.hpp>
#include <freehca/hca/kinds/xrc_completion_queue.hpp>
#include <freehca/hca/kinds/xrc_domain.hpp>
#include <freehca/hca/kinds/xrc_queue_pair.hpp>
#include <freehca/hca/kinds/xrc_receive_queue.hpp>

namespace freehca {

/// Returns a budget with some objects of every kind. with<K>() changes the number of one kind.
constexpr verbs_budget every_kind() {
  return verbs_budget{}
      .with<protection_domain>(8)
      .with<memory_region>(32)
      .with<fast_memory_region>(8)
      .with<memory_window>(8)
      .with<address_handle>(16)
      .with<completion_queue>(16)
      .with<counting_completion_queue>(4)
      .with<resizable_completion_queue>(4)
      .with<completion_ring>(4)
      .with<shared_receive_queue>(8)
      .with<queue_pair>(16)
      .with<raw_ethernet_queue_pair>(4)
      .with<xrc_domain>(4)
      .with<xrc_completion_queue>(4)
      .with<extended_completion_queue>(4)
      .with<xrc_receive_queue>(4)
      .with<xrc_queue_pair>(4)
      .with<special_queue_pairs>(1)
      .with<management_queue_pair>(4)
      .with<multicast_table>(1)
      .with<group_membership>(16)
      .with<receive_queue_range>(4)
      .with<receive_work_queue>(16)
      .with<rss_queue_pair>(4)
      .with<packet_counter>(8)
      .with<flow_rule>(16)
      .with<dma_memory_region>(4);
}

// The facade (faces/easy) adds two kinds of its own.
static_assert(every_kind().kinds[verbs_budget::most_kinds - 2].what == nullptr);

}  // namespace freehca
