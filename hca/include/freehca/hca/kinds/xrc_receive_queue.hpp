// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/directory.hpp>

#include <freehca/hca/kinds/shared_receive_queue.hpp>
#include <freehca/hca/kinds/xrc_completion_queue.hpp>
#include <freehca/hca/kinds/xrc_domain.hpp>

namespace freehca {

struct xrc_receive_queue_attributes {
  pd_handle pd{};  ///< of the memory that receives and remote requests access
  xrcd_handle domain{};
  xrc_cq_handle cq{};  ///< gets the completions of the receives
  std::uint32_t receives = 0;
  unsigned scatter = 1;
  void* cookie = nullptr;
};

/// A shared receive queue of an XRC domain. The requests of XRC initiators name it by its number.
/// Remote requests are checked against its protection domain, not against that of the XRC target.
/// A handle of it is no handle of a shared_receive_queue, because queue pairs of other services
/// cannot use it (Linux 6.1 core/uverbs_cmd.c create_qp). Its events come to verbs_events::srq with
/// the index and the generation of its handle. After a reset of the device,
/// verbs_events::request_ended gets its cookie and no queue pair.
struct xrc_receive_queue : shared_receive_queue {
  using attributes = xrc_receive_queue_attributes;
  using stands_in_for = void;
  static constexpr kind_facts facts =
      facts_like(shared_receive_queue::facts, "XRC receive queue", 0x52);

  /// In place of the rings of the XRC targets in completions: `shared` is the ring of this queue.
  queues::qp_rings named;
  completion_queue* cq = nullptr;

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
};

using xrc_srq_handle = handle<xrc_receive_queue>;
using create_xrc_receive_queue = create_object<xrc_receive_queue>;
/// Completions that were not polled are dropped, and so are posted receives. XRC targets of the
/// domain may stay: the device refuses requests that name the queue.
using destroy_xrc_receive_queue = destroy_object<xrc_receive_queue>;

/// Returns 0 for a stale handle.
inline std::uint32_t srqn_of(const verbs& in, xrc_srq_handle h) {
  const xrc_receive_queue* const queue = in.find(h);
  return queue != nullptr ? queue->number : 0;
}

/// The same as arm_shared_receive_queue.
class arm_xrc_receive_queue : public arm_shared_receive_queue {
 public:
  void start(verbs& owner, xrc_srq_handle which, std::uint32_t limit) {
    if (startable()) start_for(owner, owner.find(which), limit);
  }
};

}  // namespace freehca
