// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include <freehca/layouts/eqe.hpp>

#include "basis/adapter.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"
#include "tables/key_users.hpp"

namespace freehca::model {

/// The queue pairs that are not in the reset state. Their contexts stand in ICM: what execution
/// changes is written back soon after, and before every command that shows it.
class queue_pairs final : private work_receiver {
 public:
  explicit queue_pairs(adapter& a) : a_(a), work_(a.work, "queue pairs", *this) {}
  /// What one takes at most: its answers and the receive at hand are as many and as long as they
  /// can be.
  static constexpr std::size_t bytes_each = sizeof(queue_pair) + responses_held * sizeof(response) +
                                            128 * sizeof(responder_resource) + 4096;

  /// The same of this adapter's, which may read ahead.
  std::size_t bytes_of_one() const {
    return bytes_each + (a_.how.prefetch ? sizeof(send_prefetch) : 0);
  }

  /// The queue pair whose number is `qpn`, its bits above the table's size ignored (captures);
  /// nullptr when it is in the reset state.
  queue_pair* find(std::uint32_t qpn);
  /// A new queue pair in the reset state.
  queue_pair& create(std::uint32_t qpn);
  /// Forgets it and writes a context in the reset state.
  void destroy(queue_pair& qp);

  std::uint32_t index_of(std::uint32_t qpn) const;
  /// Where its context stands in ICM.
  std::uint64_t context_address(std::uint32_t qpn) const;

  /// Writes the context back now; false when ICM is not there.
  bool store(queue_pair& qp);
  /// The context has changed: written back with the next batch.
  void touch(queue_pair& qp);
  /// Sets the state in the context too.
  void set_state(queue_pair& qp, layouts::qp_state state);

  void post_event(const queue_pair& qp, layouts::event_type type);

  /// Special queue pairs: port p's QP0 is base + p - 1, its QP1 base + 2 + p - 1 (Linux
  /// hw/mlx4/qp.c get_sqp_num). 0: none.
  void set_special_base(std::uint32_t qpn) { special_base_ = qpn; }
  std::uint32_t special(unsigned port, unsigned qp) const;
  /// 0, or 1 for a QP0 and 2 for a QP1; `port` is set then.
  unsigned special_kind(std::uint32_t qpn, unsigned& port) const;

  /// A send that is under way and names the local key `lkey`, of a queue pair that works: in RTS or
  /// SQD. Looks at as many as a slice goes; what stands further is not found.
  std::optional<request_place> send_under(std::uint32_t lkey) const;

  /// Is there one that is bound to the link of port `port` as it is (queue_pair::bound_to_link)?
  bool any_bound_to_link(unsigned port) const { return bound_[port - 1] != 0; }
  /// The link of a port has become one of the other kind (port_layers). find() applies that to a
  /// queue pair before it returns it, and all others follow in slices. A queue pair that was bound
  /// to the old link is handed to `on_link_gone`, which is set beforehand.
  void links_replaced();
  std::function<void(queue_pair&)> on_link_gone;

  std::uint64_t count() const { return table_.size(); }
  /// Rises with clear(): timers of before mean nothing.
  std::uint64_t epoch() const { return epoch_; }
  void clear();

  /// Work requests in all send queues: whoever adds one or takes one away counts it.
  std::size_t requests_held = 0;

 private:
  void write_back();
  bool has_current_links(const queue_pair& qp) const { return qp.links == a_.layers.changes(); }
  void apply_link_change(queue_pair& qp);
  void apply_link_changes();
  void count_bound(queue_pair& qp, bool there);
  void append(queue_pair& qp);
  void unlink(queue_pair& qp);
  void stop_timers(queue_pair& qp);
  void discard(std::unique_ptr<queue_pair> qp);
  template <class Archive>
  void transfer_all(Archive& archive);
  /// Whether a queue pair that was read fits the adapter's ports. Returns what does not.
  const char* broken_ports(const queue_pair& qp) const;
  void forget_table();

  enum work : std::uint8_t { write_contexts, follow_links };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  std::unordered_map<std::uint32_t, std::unique_ptr<queue_pair>> table_;
  std::deque<std::uint32_t> dirty_;
  /// All queue pairs. Those that a change of links has not been applied to come first.
  queue_pair *oldest_ = nullptr, *newest_ = nullptr;
  bool applying_ = false;
  std::array<std::size_t, 2> bound_{};  ///< to the link of port 1, of port 2
  std::uint64_t epoch_ = 0;
  std::uint32_t special_base_ = 0;

 public:
  using saved = saving::fields<&queue_pairs::dirty_, &queue_pairs::applying_, &queue_pairs::epoch_,
                               &queue_pairs::special_base_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"on_link_gone", "a function, which is set at construction"},
      {"requests_held", "the requests of all queue pairs"},
      {"work_", "fixed at construction"},
      {"table_", "transfer_state() saves the queue pairs in the order of the list"},
      {"oldest_", "transfer_state() saves the queue pairs in the order of the list"},
      {"newest_", "transfer_state() saves the queue pairs in the order of the list"},
      {"bound_", "the queue pairs that are counted as bound"}};
  /// The layers of the ports (port_layers) are loaded before.
  void transfer_state(saving::writer& archive);
  void transfer_state(saving::reader& archive);
  const char* broken_invariant() const;
};

}  // namespace freehca::model
