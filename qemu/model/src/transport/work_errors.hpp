// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/layouts/eqe.hpp>

#include "basis/adapter.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class error_watch;
class queue_pairs;
class receive_queues;
class send_engine;
class work_completions;

/// The way into the error states, and the flushing of work that will not be done.
class work_errors final : private work_receiver {
 public:
  work_errors(adapter& a, queue_pairs& pairs, receive_queues& receives,
              work_completions& completions, error_watch& watch, send_engine& sends)
      : a_(a),
        work_(a.work, "work errors", *this),
        pairs_(pairs),
        receives_(receives),
        completions_(completions),
        watch_(watch),
        sends_(sends) {}

  /// The oldest request of the send queue has failed: its error completion, then the queue pair
  /// goes to the error state (RC) or the send queue error state (the others), and what is behind it
  /// is flushed.
  void send_failed(queue_pair& qp);

  /// The receive in progress, or just taken, has failed: its completion, with the reason that the
  /// rule book was last told, then the error state.
  void receive_failed(queue_pair& qp, const receive_request& r, failure what);

  /// To the error state, with an affiliated event if there is one to tell, and then the reason that
  /// the rule book was last told.
  void enter_error(queue_pair& qp, std::optional<layouts::event_type> event);

  /// There is, or may be, new work in a queue pair that is in an error state: flushed too.
  void flush(queue_pair& qp);

 private:
  void schedule(queue_pair& qp);
  void run(std::uint32_t qpn);
  /// As far as the slice goes; true: there is more.
  bool flush_sends(queue_pair& qp);
  bool flush_receives(queue_pair& qp);

  enum work : std::uint8_t { flush_queues };  // number: the queue pair
  void run_item(work_item& what) override { run(what.number); }

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  receive_queues& receives_;
  work_completions& completions_;
  error_watch& watch_;
  send_engine& sends_;

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
};

}  // namespace freehca::model
