// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace freehca::switch_common {

/// What a program has of a switch or a bridge. Ports count from 1.
class forwarder {
 public:
  virtual ~forwarder() = default;

  /// Somebody is at the other end of the port's wire, or nobody is any more.
  virtual void plug(unsigned port, bool plugged) = 0;
  /// What came out of that wire.
  virtual void arrived(unsigned port, std::span<const std::byte> bytes) = 0;
  /// surroundings::send() has room again.
  virtual void has_room(unsigned port) = 0;
  /// Does what is due. When that is next; all ones: never.
  virtual void run() = 0;
  virtual std::uint64_t deadline() const = 0;
  /// The last that is asked of it: it says goodbye where that is usual.
  virtual void end() = 0;
};

}  // namespace freehca::switch_common
