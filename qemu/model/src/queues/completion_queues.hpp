// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/eqe.hpp>

#include "basis/adapter.hpp"
#include "saving/fields.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

class command_checks;

/// Completion queues: SW2HW_CQ, HW2SW_CQ, QUERY_CQ, MODIFY_CQ, the arm doorbell, completion events.
/// Their contexts stand in ICM; here stands which of them hardware owns, and what no field tells.
class completion_queues final : private work_receiver {
 public:
  explicit completion_queues(adapter& a);
  static constexpr std::size_t bytes_each = 256;  ///< that one takes at most, its timer too

  /// Does CQ `cqn` exist in hardware's hands?
  bool exists(std::uint32_t cqn) const { return owned_.contains(cqn); }

  /// Queue pairs that complete to the queue: each counts once for its sends and once for its
  /// receives.
  void attach(std::uint32_t cqn) { ++users_[cqn]; }
  void detach(std::uint32_t cqn) {
    if (const auto u = users_.find(cqn); u != users_.end() && --u->second == 0) users_.erase(u);
  }

  /// Appends a CQE (owner bit and stride are set here) and raises the completion event if the CQ is
  /// armed for it. An error counts for `port` too (0: none). `solicited`: an armed-for-solicited CQ
  /// fires for it (errors always do). On overrun: the CQ goes to error state and raises a CQ-error
  /// event; the caller's QP gets no completion. False then, as for a CQ that is not there: the rule
  /// book has been told why.
  bool complete(std::uint32_t cqn, layouts::image<layouts::cqe> e, bool solicited,
                unsigned port = 0);
  template <class T>
  bool complete(std::uint32_t cqn, const layouts::image<T>& e, bool solicited, unsigned port = 0) {
    return complete(cqn, layouts::image<layouts::cqe>::from_bytes(e.data()), solicited, port);
  }

  /// The CQ doorbell in a UAR page (two 32-bit words, host order).
  void doorbell(std::uint32_t uar, std::uint32_t first, std::uint32_t second);
  /// A doorbell has come that may be the queue's: the arm request in its doorbell record, if it is
  /// another than the last one, is taken for it.
  void look_at_record(std::uint32_t cqn);
  void clear();

  /// Completions with that error so far, of sends or of receives: those of a port, or (0) all.
  std::uint64_t errors(layouts::cqe_syndrome why, bool send, unsigned port) const {
    return errors_[port][send ? 1 : 0][static_cast<std::uint8_t>(why)];
  }
  std::uint64_t overruns() const { return overruns_; }

 private:
  using context = layouts::image<layouts::cqc>;
  /// What hardware knows of a CQ beyond its context.
  struct queue {
    std::uint32_t uar = 0;  ///< the page of its doorbell
    bool fired = false;     ///< an event was raised; `fired_sn` is of the request it answered
    std::uint8_t armed_sn = 0, fired_sn = 0;
    std::uint32_t last_arm = 0;   ///< the last doorbell's request, as the record has it
    std::uint32_t held_back = 0;  ///< completions since the last event, under moderation
    scheduler::ticket moderation;

    using saved = saving::fields<&queue::uar, &queue::fired, &queue::armed_sn, &queue::fired_sn,
                                 &queue::last_arm, &queue::held_back, &queue::moderation>;
  };

  slice_result sw2hw(command& c);
  slice_result continue_sw2hw(command& c);
  layouts::command_status hw2sw(command& c);
  layouts::command_status query(command& c);
  slice_result modify(command& c);
  slice_result resize(command& c, context in);
  slice_result continue_resize(command& c);

  std::uint64_t context_at(std::uint32_t cqn) const;
  bool append(std::uint32_t cqn, context& q, layouts::image<layouts::cqe> e);
  bool fill(const queue_buffer& where, unsigned log_entries, std::uint32_t first,
            std::uint32_t& slot, std::uint32_t end = ~0u);
  void check_arm(std::uint32_t cqn, const queue& known, const context& q,
                 const layouts::image<layouts::cq_doorbell>& d);
  bool make_room(std::uint32_t cqn, context& q);
  void fail(std::uint32_t cqn, context& q, layouts::cq_error_syndrome why);
  void notify(std::uint32_t cqn, queue& known, context& q);
  void fire(std::uint32_t cqn, queue& known, context& q);
  void period_over(std::uint32_t cqn);

  enum work : std::uint8_t { end_of_period };  // number: the queue; generation: epoch_
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  std::unordered_map<std::uint32_t, queue> owned_;
  std::uint64_t epoch_ = 0;  ///< rises with clear(): timers of before mean nothing
  std::unordered_map<std::uint32_t, unsigned> users_;
  std::uint64_t written_ = 0, events_ = 0, overruns_ = 0;
  /// All, those of port 1, of port 2; receives, sends; by syndrome.
  std::array<std::array<std::array<std::uint64_t, 256>, 2>, 3> errors_{};

 public:
  using saved = saving::fields<&completion_queues::owned_, &completion_queues::epoch_,
                               &completion_queues::users_, &completion_queues::written_,
                               &completion_queues::events_, &completion_queues::overruns_,
                               &completion_queues::errors_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "fixed at construction"}};
  const char* broken_invariant() const;
};

}  // namespace freehca::model
