// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace freehca::switch_common {

/// What a switch or a bridge asks of the program around it.
class surroundings {
 public:
  /// Nanoseconds of a clock that never goes back.
  virtual std::uint64_t now() = 0;
  /// Out of port `port`, 1 and up. Never waits. False: there is no room; the switch keeps the bytes
  /// until its has_room() is called for that port.
  virtual bool send(unsigned port, std::span<const std::byte> bytes) = 0;
  /// What happens, in a sentence: links that come and go, packets that are dropped.
  virtual void tell(std::string_view what) = 0;
  /// Whether tell() is listened to; sentences cost more than packets.
  virtual bool listens() const = 0;

 protected:
  ~surroundings() = default;
};

}  // namespace freehca::switch_common
