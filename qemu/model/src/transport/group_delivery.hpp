// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "basis/adapter.hpp"
#include "link/packet.hpp"
#include "link/transport_packet.hpp"
#include "saving/fields.hpp"
#include "steering/steering.hpp"

namespace freehca::model {

class arrivals;
class drop_log;
struct queue_pair;
class queue_pairs;

/// Packets that several queue pairs get: those to a group, and those that rules steer. Who is in
/// the group, and each copy, costs as much as a packet does, so that a delivery is done in slices.
/// Packets that come by the same port wait for it: the order in which they came is the order in
/// which each member gets them.
class group_delivery final : private work_receiver {
 public:
  group_delivery(adapter& a, queue_pairs& pairs, model::steering& steering, drop_log& drops,
                 arrivals& arrivals)
      : a_(a),
        work_(a.work, "group delivery", *this),
        pairs_(pairs),
        steering_(steering),
        drops_(drops),
        arrivals_(arrivals) {}

  /// `p`, which was unwrapped as `v`.
  void deliver(const transport_packet& v, const packet& p);
  /// What waits there of that port is lost.
  void forget(unsigned port);
  void clear();

  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);

 private:
  struct delivery {
    packet p;  ///< empty while the first slice runs: the packet is still the caller's
    std::optional<model::steering::search> searching;
    member_list members;
    std::size_t next = 0;  ///< of the members
    bool found = false;    ///< members are known

    using saved = saving::fields<&delivery::p, &delivery::searching, &delivery::members,
                                 &delivery::next, &delivery::found>;
  };

  /// As far as the slice goes; true: it is done.
  bool go_on(delivery& d, const transport_packet& v);
  /// Does a member not want what `source` of its own port sends?
  bool blocks(const member& m, const queue_pair& qp, std::uint32_t source) const;
  bool find_members(delivery& d, const transport_packet& v);
  void run(unsigned port);
  void schedule(unsigned port);

  enum work : std::uint8_t { deliver_packets };  // number: the port
  void run_item(work_item& what) override {
    // A state that was loaded may name any number.
    if (what.number >= 1 && what.number <= waiting_.size()) run(what.number);
  }

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  model::steering& steering_;
  drop_log& drops_;
  arrivals& arrivals_;
  std::array<std::deque<delivery>, 2> waiting_;  ///< by port; the first is the one at hand
  std::array<bool, 2> scheduled_{};

  template <class Archive>
  void transfer_members(Archive& archive);

 public:
  using saved = saving::fields<&group_delivery::waiting_, &group_delivery::scheduled_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
};

}  // namespace freehca::model
