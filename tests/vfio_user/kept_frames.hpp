// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <freehca/wires/wire.hpp>

namespace freehca::wires {

/// Who keeps all that a wire brings.
struct kept final : wire_reader {
  bool may_receive() override { return true; }
  void receive(const std::byte* from, std::size_t bytes) override {
    all.emplace_back(reinterpret_cast<const char*>(from), bytes);
  }
  void complain(std::string_view what) override { complaints.emplace_back(what); }
  std::vector<std::string> all, complaints;
};

inline const std::byte* bytes(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

/// Lets a wire do what it waits for, for 20 ms at most; to it a second has passed since the last.
inline void turn(wire& w, kept& to, bool reading = true) {
  constexpr std::uint64_t second = 1'000'000'000;
  static std::uint64_t now = second;
  now += second;
  pollfd one{w.descriptor(), w.events(reading), 0};
  poll(&one, 1, 20);
  w.work(one.revents, now, to);
}

}  // namespace freehca::wires
