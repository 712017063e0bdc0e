// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/crossing.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/event_relay.hpp>

namespace freehca {

class device;

/// What the control owner and the owner of an event context have between them.
struct owner_link {
  inbox* mail = nullptr;  ///< of the owner's reactor
  event_relay events;     ///< of its objects
  const char* name = "";
  unsigned context = 0;  ///< the completion context that it polls

  // What the control owner sends; each again only after the owner has let go, or was told to begin
  // anew. `why` is written before.
  using crossing = crossing_of<owner_link>;
  crossing failed{*this};      ///< the device stopped working
  crossing stop{*this};        ///< it is about to be reset: nothing is posted any more
  crossing let_go{*this};      ///< the device was reset: nothing of it is touched any more
  crossing begin_anew{*this};  ///< the device is up again, and so is the share, if `why_anew` is ok
  status why_failed, why_anew;
  // What the owner answers.
  crossing has_stopped{*this}, has_let_go{*this};
  unsigned answers_sent = 0;  ///< the owner's to write

  // The control owner's alone.
  enum class standing : std::uint8_t {
    working,
    told_to_stop,
    stopped,
    told_to_let_go,
    let_go
  } is = standing::let_go;
  bool told_of_failure = false;
  unsigned answers_heard = 0;
  /// Cuts its share off the device's numbers once more.
  status (*cut)(owner_link& of, device& from) = nullptr;
  bool (*has)(const owner_link& of, const event_relay::entry& event) = nullptr;
};

}  // namespace freehca
