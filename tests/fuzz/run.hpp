// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "input.hpp"

namespace freehca::fuzz {

/// A machine in a state in which inputs begin, and what they do to it (driver_run.cpp,
/// model_run.cpp). Traps when something is found, and says what.
class target {
 public:
  target() = default;
  target(const target&) = delete;
  target& operator=(const target&) = delete;
  virtual ~target() = default;

  /// What the rest of an input says, and what must hold whatever that was. Once.
  virtual void go(input from) = 0;
  /// After go(): what must hold too, and takes longer to see: that the machine works again.
  virtual void check_thoroughly() = 0;
  /// After go(): a digest of all that the machine did, step by step, and of what it left. The same
  /// input has the same on every machine.
  virtual std::uint64_t trace() = 0;
};

/// The state in which an input begins, which is how its machine is made; taken from the input's
/// front.
struct start {
  std::uint32_t state;
  /// Whether a kept machine is to be checked thoroughly, which takes as long as many inputs: one
  /// input in some dozens, by a mark of its bytes, so that inputs do not breed those that are.
  bool thorough;
};
start start_of(input& from);
std::unique_ptr<target> make_target(std::uint32_t state);

/// Prints what the runs of this process have met, one thing a line, if the target records it.
void print_reach();

/// Of the model: one input on a new machine; gives a digest of what it led to, which is the same
/// whether the machine's state was saved and loaded on the way or not.
std::uint64_t outcome(const std::uint8_t* data, std::size_t bytes);

/// One input on a new machine, checked thoroughly; gives its trace.
std::uint64_t run(const std::uint8_t* data, std::size_t bytes);

}  // namespace freehca::fuzz
