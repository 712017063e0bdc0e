// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "arena.hpp"
#include "run.hpp"

namespace freehca::fuzz {

/// Runs inputs on machines that are made once for each state and brought back to it after each
/// input. For programs that arena_new.cpp is part of.
class kept_targets {
 public:
  kept_targets() = default;
  ~kept_targets();
  kept_targets(const kept_targets&) = delete;
  kept_targets& operator=(const kept_targets&) = delete;

  void run(const std::uint8_t* data, std::size_t bytes) {
    static_cast<void>(go(data, bytes, false));
  }
  /// The same, and gives the trace, which takes longer to make than most inputs take to run.
  std::uint64_t traced(const std::uint8_t* data, std::size_t bytes) {
    return go(data, bytes, true);
  }

 private:
  // What was used least recently gives way to what is new.
  static constexpr std::size_t most = arena::most_at_once - 8;
  struct kept {
    arena memory;
    target* on = nullptr;
    std::uint64_t used = 0;
  };
  std::uint64_t go(const std::uint8_t* data, std::size_t bytes, bool trace_wanted);
  kept& of(std::uint32_t state);
  void forget(std::uint32_t state);

  std::map<std::uint32_t, std::unique_ptr<kept>> kept_;
  std::uint64_t runs_ = 0;
};

}  // namespace freehca::fuzz
