// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <freehca/vfio_user/messages.hpp>

#include "../input.hpp"

namespace freehca::fuzz {

/// What one end of a connection says, made of an input: messages that are nearly right, since a
/// fuzzer finds those hardly by itself, or any bytes.
class said {
 public:
  /// Of a socket that takes all of it.
  explicit said(int socket) : socket_(socket) {}

  /// The next message of the input; whether it is a reply to `id` or a request is for the input.
  void message_of(input& from, std::uint16_t id);
  /// A right one.
  void message(const vfio_user::header& head, std::span<const std::byte> body);

 private:
  using bytes = std::vector<std::byte>;

  static std::uint64_t number(input& from);
  static bytes body_of(input& from, vfio_user::command what);
  void put(std::span<const std::byte> all, std::span<const int> files) const;

  int socket_;
};

}  // namespace freehca::fuzz
