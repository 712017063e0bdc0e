// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <freehca/model/request_fault.hpp>

#include "basis/adapter.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class datagrams;
class error_watch;
class frame_sender;
class packet_sender;
class queue_pairs;
class requester;
class work_completions;
class work_errors;

/// Executes send queues: fetches WQEs, hands each packet's turn to the service that makes it,
/// completes requests in order. A run sends a bounded number of packets and comes back later for
/// more.
class send_engine final : private work_receiver {
 public:
  send_engine(adapter& a, queue_pairs& pairs, work_completions& completions, work_errors& errors,
              error_watch& watch, requester& requests, datagrams& datagrams, frame_sender& frames,
              packet_sender& sender)
      : a_(a),
        work_(a.work, "send engine", *this),
        pairs_(pairs),
        completions_(completions),
        errors_(errors),
        watch_(watch),
        requests_(requests),
        datagrams_(datagrams),
        frames_(frames),
        sender_(sender) {}

  /// The doorbell: heard at once, or when the fault of slow work says. `pushed`: a BlueFlame
  /// register brought the entry along.
  void rung(queue_pair& qp, bool pushed);
  /// A doorbell of the queue's page, or of another queue's there, led to its next entry, which is
  /// hardware's: counts as its doorbell, if none is heard or under way.
  void found_given(queue_pair& qp);
  /// There may be work: a doorbell, an acknowledgement, a timer.
  void kick(queue_pair& qp);

  void judge(request_judge by) { judge_ = std::move(by); }
  bool is_judged() const { return bool{judge_}; }

  /// The queue leaves the states in which it works: is there an entry whose doorbell never came?
  void check_unrung(const queue_pair& qp);

  /// Completes the finished requests at the head of the queue, or fails the head if it has gone
  /// wrong.
  void settle(queue_pair& qp);

  /// The queue pair goes: it waits for nothing more.
  void forget(queue_pair& qp);

  /// Completes a request that went well, and was taken from the queue.
  void tell_done(queue_pair& qp, const send_request& r);

 private:
  enum class step : std::uint8_t { sent, skipped, unfinished, blocked };

  void run(std::uint32_t qpn);
  bool may_run(const queue_pair& qp) const;
  bool fetch(queue_pair& qp);
  void found_none(queue_pair& qp);
  void read_ahead(queue_pair& qp, const send_request& r);
  void check_fetched(const queue_pair& qp, send_request& r);
  step advance(queue_pair& qp);
  step execute_locally(queue_pair& qp, send_request& r);
  /// Sets r.wrong if it has gone wrong. False: there is more of it to do.
  bool manage_memory(const queue_pair& qp, send_request& r);
  bool start(queue_pair& qp, send_request& r);
  std::optional<failure> send_packet(queue_pair& qp, send_request& r);
  void check_drained(queue_pair& qp);
  void hear_doorbell(std::uint32_t qpn, std::uint64_t due);

  // number: the queue pair; value, of a doorbell: when it is due
  enum work : std::uint8_t { run_queue, late_doorbell, look_again };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  work_completions& completions_;
  work_errors& errors_;
  error_watch& watch_;
  requester& requests_;
  datagrams& datagrams_;
  frame_sender& frames_;
  packet_sender& sender_;
  request_judge judge_;  ///< empty: every request is let be

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"work_", "set at construction"},
      {"judge_", "a function of the program that has the adapter"}};
};

}  // namespace freehca::model
