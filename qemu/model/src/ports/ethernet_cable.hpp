// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "basis/adapter.hpp"
#include "link/link_fault_source.hpp"
#include "ports/ethernet_counters.hpp"
#include "ports/ethernet_settings.hpp"
#include "ports/traffic_classes.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The sending half of an Ethernet port's cable. Unlike a cable of InfiniBand it has nothing to
/// tell of the other end: who is there is not known. Frames that find no room, and those whose
/// traffic class has used up its rate, wait in the queue of their class.
class ethernet_cable final : private work_receiver {
 public:
  /// What finds no place in the queue is counted in `counters`.
  ethernet_cable(adapter& a, ethernet_counters& counters, const ethernet_settings& told,
                 unsigned number);

  void send(std::vector<std::byte> bytes, unsigned traffic_class);
  /// So much waits of that class that who sends has to wait. When that is no more so,
  /// packet_receiver::port_has_room() is called.
  bool full(unsigned traffic_class) const;
  void has_room();
  void set_faults(const link_faults& how) { faults_.set(how); }
  /// SET_PORT has told of classes.
  void classes_told();
  /// Nothing of what was to be sent will be; whoever waited goes on.
  void begin_anew();

 private:
  void release_held_back();
  void queue(std::vector<std::byte> bytes, unsigned traffic_class);
  void send_waiting();
  /// When what waits for its rate alone may go on.
  void wait_for_rate();
  std::uint64_t waiting_most() const;
  /// Of a class that has a share: with so much in its queue who sends has to wait.
  std::uint64_t queue_bytes() const;
  /// To environment::link_send; false: there is no room.
  bool put(std::span<const std::byte> bytes);

  enum work : std::uint8_t { release, rate_allows, go_on };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  ethernet_counters& counters_;
  const ethernet_settings& told_;
  const unsigned number_;
  link_fault_source faults_{link_fault_source::resealing::never};
  std::vector<std::byte> held_back_;  ///< until the next frame has gone
  unsigned held_back_class_ = 0;
  scheduler::ticket release_, rate_, go_on_;
  bool full_ = false;  ///< link_send has no room
  traffic_classes waiting_;
  std::uint64_t held_to_rate_ = 0;  ///< frames that waited since their class had used up its rate

 public:
  using saved =
      saving::fields<&ethernet_cable::faults_, &ethernet_cable::held_back_,
                     &ethernet_cable::held_back_class_, &ethernet_cable::release_,
                     &ethernet_cable::rate_, &ethernet_cable::go_on_, &ethernet_cable::full_,
                     &ethernet_cable::waiting_, &ethernet_cable::held_to_rate_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
  const char* broken_invariant() const;
};

}  // namespace freehca::model
