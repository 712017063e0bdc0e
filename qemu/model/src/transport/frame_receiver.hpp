// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "basis/adapter.hpp"
#include "frames/frame.hpp"
#include "frames/frame_view.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"
#include "steering/member.hpp"
#include "steering/steering.hpp"

namespace freehca::model {

class queue_pairs;
class receive_queues;
class work_completions;
class work_errors;

/// Frames that came by an Ethernet port: finds the queue pairs that get one, by steering and then
/// by RSS, and puts it into a receive of each. Who gets it, and each copy, costs as much as a
/// packet does, so that it is done in slices; frames of one port wait for each other, and keep
/// their order.
class frame_receiver final : private work_receiver {
 public:
  frame_receiver(adapter& a, queue_pairs& pairs, receive_queues& receives, model::steering& steers,
                 work_completions& completions, work_errors& errors)
      : a_(a),
        work_(a.work, "frame receiver", *this),
        pairs_(pairs),
        receives_(receives),
        steers_(steers),
        completions_(completions),
        errors_(errors) {}

  void receive(unsigned port, const frame& f);
  /// What waits there of that port is lost.
  void forget(unsigned port);
  void clear();

  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);

 private:
  struct delivery {
    frame f;  ///< empty while the first slice runs: the frame is still the caller's
    std::optional<model::steering::search> searching;
    member_list members;
    std::size_t next = 0;  ///< of the members
    bool found = false;    ///< members are known

    using saved = saving::fields<&delivery::f, &delivery::searching, &delivery::members,
                                 &delivery::next, &delivery::found>;
  };

  /// As far as the slice goes; true: it is done.
  bool go_on(unsigned port, delivery& d, const frame& f);
  void schedule(unsigned port);
  void run(unsigned port);
  bool takes_from(const queue_pair& qp, unsigned port) const;
  void deliver(unsigned port, queue_pair& steered, const frame& f, const frame_view& v);
  bool stays_away(const queue_pair& qp, const frame& f, const frame_view& v) const;
  void place(unsigned number, queue_pair& qp, const frame& f, const frame_view& v,
             std::uint32_t hash);
  void drop(unsigned port, const frame_view& v, const char* why);

  enum work : std::uint8_t { deliver_frames };  // number: the port
  void run_item(work_item& what) override {
    // A state that was loaded may name any number.
    if (what.number >= 1 && what.number <= waiting_.size()) run(what.number);
  }

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  receive_queues& receives_;
  model::steering& steers_;
  work_completions& completions_;
  work_errors& errors_;
  std::array<std::deque<delivery>, 2> waiting_;  ///< by port; the first is the one at hand
  std::array<bool, 2> scheduled_{};

  template <class Archive>
  void transfer_members(Archive& archive);

 public:
  using saved = saving::fields<&frame_receiver::waiting_, &frame_receiver::scheduled_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
};

}  // namespace freehca::model
