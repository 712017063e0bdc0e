// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/crossing.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/event_relay.hpp>

namespace freehca {

class device;
struct owner_link;

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
  /// Reports that the device is up again, and allocates the shares again.
  void begin_anew(device& from);
  /// Passes an asynchronous event to the event owner of the object that the event names. Returns
  /// false if no event owner has the object.
  bool relay(const event_relay::entry& event);

 private:
  owner_link* links_[budget::most_completion_event_queues] = {};
  unsigned count_ = 0;
};

}  // namespace freehca
