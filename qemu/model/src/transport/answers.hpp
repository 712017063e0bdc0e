// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "basis/adapter.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class packet_sender;
class queue_pairs;
class work_errors;

/// Sends what a responder owes, in the order of the requests. Long read responses go out in
/// portions.
class answers final : private work_receiver {
 public:
  answers(adapter& a, queue_pairs& pairs, work_errors& errors, packet_sender& sender)
      : a_(a), work_(a.work, "answers", *this), pairs_(pairs), errors_(errors), sender_(sender) {}

  /// Sends `r` now if nothing is before it, else in its turn. An acknowledgement swallows the one
  /// before it.
  void add(queue_pair& qp, const response& r);
  void acknowledge(queue_pair& qp, std::uint32_t psn);
  /// What waited for room on a cable.
  void go_on(queue_pair& qp) {
    if (!qp.rq.responses.empty()) schedule(qp);
  }

 private:
  void schedule(queue_pair& qp);
  void run(std::uint32_t qpn);
  void send_plain(queue_pair& qp, const response& r);
  /// An answer could not be laid out.
  void tell_of_loss(const queue_pair& qp);
  bool send_read_packet(queue_pair& qp, response& r);
  layouts::image<layouts::bth> header(const queue_pair& qp, layouts::bth_operation operation,
                                      std::uint32_t psn) const;

  enum work : std::uint8_t { send_responses };  // number: the queue pair
  void run_item(work_item& what) override { run(what.number); }

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  work_errors& errors_;
  packet_sender& sender_;

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
};

}  // namespace freehca::model
