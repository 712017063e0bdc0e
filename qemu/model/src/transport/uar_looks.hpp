// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "basis/adapter.hpp"
#include "queues/uar_users.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class queue_pairs;
class send_engine;

/// Doorbells of which only the UAR page is known: what they say is looked for where it stands in
/// the host's memory too, for every queue of the page.
///
/// A send queue's is its next entry. Drivers give an entry to hardware, then they ring, and an
/// entry that hardware owns may be executed whether its doorbell has come or not: Linux stamps a
/// new queue "so that the hardware doesn't start processing stale work requests" (hw/mlx4/qp.c
/// __mlx4_ib_modify_qp, _mlx4_ib_post_send). A completion queue's is the arm request in its
/// doorbell record (include/linux/mlx4/cq.h mlx4_cq_arm writes both).
class uar_looks final : private work_receiver {
 public:
  using kind = uar_users::kind;

  uar_looks(adapter& a, queue_pairs& pairs, send_engine& sends)
      : a_(a), work_(a.work, "UAR looks", *this), pairs_(pairs), sends_(sends) {
    a.counters.add("uar_page_looks", looks_);
  }

  /// Somebody rang in the page, for queues of that kind. As many are looked at as a slice goes, the
  /// rest in turns to come.
  void look(std::uint32_t page, kind what);
  /// Are there queues of the page left to be looked at?
  bool awaited(std::uint32_t page) const {
    return waiting_.contains({page, kind::send_queue}) ||
           waiting_.contains({page, kind::completion_queue});
  }
  /// What is scheduled may be forgotten too: then it is scheduled anew.
  void clear() {
    waiting_.clear();
    scheduled_ = false;
  }

 private:
  using place = std::pair<std::uint32_t, kind>;
  struct progress {
    std::uint32_t from = 0;  ///< the queues below were looked at
    bool again = false;      ///< somebody has rung since

    using saved = saving::fields<&progress::from, &progress::again>;
  };
  void look_on();
  bool finish(const place& where, progress& p);
  void look_at_send_queue(std::uint32_t qpn);

  enum work : std::uint8_t { next_slice };
  void run_item(work_item&) override {
    scheduled_ = false;
    look_on();
  }

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  send_engine& sends_;
  std::map<place, progress> waiting_;
  place turn_{};            ///< who goes on when there is time again
  bool scheduled_ = false;  ///< that is on its way
  std::uint64_t looks_ = 0;

 public:
  using saved = saving::fields<&uar_looks::scheduled_, &uar_looks::looks_, &uar_looks::turn_,
                               &uar_looks::waiting_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
  const char* broken_invariant() const;
};

}  // namespace freehca::model
