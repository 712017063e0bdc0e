// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/kinds/xrc_domain.hpp>

namespace freehca {

struct xrc_queue_pair_attributes {
  /// The domain of a target. Without it, the queue pair is an initiator.
  xrcd_handle domain{};
  pd_handle pd{};
  /// The completion queue of the sends. The device requires one of a target too.
  cq_handle cq{};
  std::uint32_t sends = 0;  ///< this and the following attributes: 0 for a target
  unsigned gather = 1;
  std::uint32_t inline_bytes = 0;
  bool masked_atomics = false;  ///< as in queue_pair_attributes
  void* cookie = nullptr;
};

/// A queue pair of an extended reliable connection (XRC). An initiator sends. Its requests have the
/// form queues::xrc, which names a receive queue of the peer. A target receives for all XRC receive
/// queues of its domain, and has no rings of its own to post to. The operations of queue_pair work
/// on both.
struct xrc_queue_pair : queue_pair {
  using attributes = xrc_queue_pair_attributes;
  using stands_in_for = queue_pair;
  static constexpr kind_facts facts = facts_like(queue_pair::facts, "XRC queue pair", 0x53);

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);

 private:
  bool is_target() const { return domain_ != nullptr; }
  static void failed(queues::qp_rings& rings, bool sent) noexcept;

  queue_pair_service own_;  // that of a reliable connection, changed
  const xrc_domain* domain_ = nullptr;
  /// Of a target: what events and failed receives find by the number of the queue pair. `rings`
  /// does not have the number, because a reset of the target leaves the completions of the receives
  /// in their queues. They are of the XRC receive queues.
  queues::qp_rings target_;
};

using xrc_qp_handle = handle<xrc_queue_pair>;
using create_xrc_queue_pair = create_object<xrc_queue_pair>;
using destroy_xrc_queue_pair = destroy_object<xrc_queue_pair>;

}  // namespace freehca
