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

/// The owners of event contexts, as the device knows them. The control owner's thread.
class owner_registry {
 public:
  void add(owner_link& owner);
  void remove(owner_link& owner);
  bool any() const { return count_ != 0; }
  /// Whoever polls a completion context; null: the control owner.
  const owner_link* at(unsigned context) const { return links_[context]; }

  /// Tells all that the device stopped working.
  void fail(status why);
  /// The device is about to be reset: asks all to post nothing more. False: nobody has to be asked.
  bool ask_to_stop();
  bool all_have_stopped() const;
  /// The device was reset: asks all to let go of it. Whoever was asked is not asked again.
  void ask_to_let_go();
  /// Name of one who has not let go yet; null: all have.
  const char* awaited() const;
  /// The device is up again.
  void begin_anew(device& from);
  /// Hands an asynchronous event to the owner of the object that it names. False: that is the
  /// control owner, or nobody.
  bool relay(const event_relay::entry& event);

 private:
  owner_link* links_[budget::most_completion_event_queues] = {};
  unsigned count_ = 0;
};

}  // namespace freehca
