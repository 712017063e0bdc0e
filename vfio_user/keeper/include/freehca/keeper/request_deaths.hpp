// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <freehca/keeper/shared_state.hpp>

namespace freehca::keeper {

/// Counts the processes that died while the same request was in hand. A request is in hand from the
/// call that takes it from the connection until it is done. The next process begins by executing
/// that request again.
class request_deaths {
 public:
  enum class verdict {
    innocent,  ///< no request was in hand, or it may be executed again
    refuse,    ///< most_deaths processes died of the request; refuse it
    hang_up,   ///< a process died although the request was refused
  };
  static constexpr unsigned most_deaths = 3;

  /// Called when a process begins.
  void begin(const shared_state& state) { done_at_begin_ = state.requests_done; }
  /// Called when the process has died. Returns what to do with the request in hand.
  verdict end(const shared_state& state);
  /// Called when the client is gone.
  void forget() { *this = request_deaths(); }

  /// The protocol's number of the request that was in hand at the last death.
  std::uint16_t command() const { return command_; }

 private:
  static std::span<const std::byte> body_of(const shared_state& state);
  bool is_refused_one(const shared_state& state) const;

  std::uint64_t done_at_begin_ = 0;
  unsigned deaths_ = 0;
  std::uint16_t command_ = 0;
  bool refused_ = false;  ///< the last verdict was `refuse`
  std::uint16_t refused_command_ = 0;
  std::size_t refused_bytes_ = 0;
  decltype(vfio_user::landing::body) refused_body_{};
};

}  // namespace freehca::keeper
