// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/crossing.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/event_relay.hpp>
#include <freehca/hca/numbers.hpp>
#include <freehca/hca/uar.hpp>

namespace freehca {

class object_operation;
class verbs;

/// The messages and the state that the control owner shares with one event owner.
struct owner_link {
  owner_link(verbs& v, inbox& m) : of(v), mail(m) {}

  verbs& of;
  inbox& mail;         ///< the event owner's inbox
  event_relay events;  ///< asynchronous events of the event owner's objects
  const char* name = "";
  unsigned context = 0;      ///< the completion context that the event owner polls
  std::uint32_t places = 1;  ///< in each directory of the event owner
  uar_page uar;              ///< the doorbell page of the event owner
  // The functions of `verbs` that only event owners need. A program without event owners does not
  // link them.
  unsigned (verbs::*poll)() = nullptr;
  void (verbs::*drop)(object_operation& op) = nullptr;
  void (verbs::*leave)() = nullptr;

  // Messages from the control owner. It sends each of them at most once in a cycle. A cycle begins
  // with `begin_anew`, and the next cycle begins only after the event owner has answered `release`.
  // All messages of a cycle have then arrived. why_failed and why_anew are written before the
  // message is sent.
  using crossing = crossing_of<owner_link>;
  crossing failed{*this};      ///< the device stopped working
  crossing stop{*this};        ///< the device will be reset: the event owner must post nothing more
  crossing release{*this};     ///< the device was reset: the event owner must stop using it
  crossing begin_anew{*this};  ///< the device is up again; objects are possible if why_anew is ok
  status why_failed, why_anew;
  // Messages from the event owner.
  crossing has_stopped{*this}, has_released{*this};
  bool working = true;  ///< written by the event owner: the device is up, as far as it knows

  // Only the control owner uses the members below.
  enum class owner_state : std::uint8_t {
    working,
    stopping,
    stopped,
    releasing,
    released
  } is = owner_state::working;
  bool failure_reported = false;
  /// Allocates the doorbell page. It is valid as long as the device is up. Error:
  /// driver_error::no_resource.
  status take_page(uar_pages& from);

  /// The owner of the event owner's numbers (number_allocator::set_owner()).
  std::uint8_t id() const { return static_cast<std::uint8_t>(context + 1); }
};

/// The event owners of a device. Only the control owner's thread uses the registry.
class owner_registry {
 public:
  void add(owner_link& owner);
  void remove(owner_link& owner);
  bool any() const { return count_ != 0; }
  /// The event owner that polls a completion context. Null if the control owner polls it.
  const owner_link* at(unsigned context) const { return links_[context]; }

  /// Reports to all event owners that the device stopped working.
  void fail(status why);
  /// Asks all event owners to post nothing more, because the device will be reset. Returns false if
  /// there is no event owner to ask.
  bool ask_to_stop();
  bool all_have_stopped() const;
  /// Asks all event owners to stop using the device, which was reset. An event owner is asked only
  /// once.
  void request_release();
  /// The name of an event owner that was asked to stop using the device and has not answered. Null
  /// if all have answered.
  const char* awaited() const;
  /// Reports that the device is up again, and allocates the doorbell pages again.
  void begin_anew(uar_pages& from);
  /// Passes an asynchronous event to the event owner of the number that the event names. Returns
  /// false if no event owner has the number.
  bool relay(const number_spaces& numbers, const event_relay::entry& event);

 private:
  owner_link* links_[budget::most_completion_event_queues] = {};
  unsigned count_ = 0;
};

}  // namespace freehca
