// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/crossing.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/event_relay.hpp>

namespace freehca {

class device;

/// The messages and the state that the control owner shares with one event owner.
struct owner_link {
  inbox* mail = nullptr;  ///< the event owner's inbox
  event_relay events;     ///< asynchronous events of the event owner's objects
  const char* name = "";
  unsigned context = 0;  ///< the completion context that the event owner polls

  // Messages from the control owner. It sends each of them at most once in a cycle. A cycle begins
  // with `begin_anew`, and the next cycle begins only after the event owner has answered `release`.
  // All messages of a cycle have then arrived. why_failed and why_anew are written before the
  // message is sent.
  using crossing = crossing_of<owner_link>;
  crossing failed{*this};      ///< the device stopped working
  crossing stop{*this};        ///< the device will be reset: the event owner must post nothing more
  crossing release{*this};     ///< the device was reset: the event owner must stop using it
  crossing begin_anew{*this};  ///< the device is up again; the share is valid if `why_anew` is ok
  status why_failed, why_anew;
  // Messages from the event owner.
  crossing has_stopped{*this}, has_released{*this};
  unsigned answers_sent = 0;  ///< written by the event owner

  // Only the control owner uses the members below.
  enum class owner_state : std::uint8_t {
    working,
    stopping,
    stopped,
    releasing,
    released
  } is = owner_state::released;
  bool failure_reported = false;
  unsigned answers_heard = 0;
  /// Allocates the numbers of the share from the device again.
  status (*cut)(owner_link& of, device& from) = nullptr;
  bool (*has)(const owner_link& of, const event_relay::entry& event) = nullptr;
};

}  // namespace freehca
