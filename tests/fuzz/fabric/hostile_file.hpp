// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../input.hpp"
#include "fabric_layout.hpp"

namespace freehca::fuzz {

/// The file of a fabric of this process alone, as a hostile peer has it: all of it can be written
/// at any time. A child process holds the locks of a few slots, as living peers do. It removes the
/// file when this process ends, however that happens.
class hostile_file {
 public:
  /// Made at the first use.
  static hostile_file& get();

  const std::string& name() const { return name_; }
  /// Makes the file as a new one, but for the child's slots, whose records look like those of
  /// honest ports. This process has no port.
  void renew(wires::link_layer link);

  /// What a write may hit.
  enum class reach {
    healed,  ///< what honest ports repair while they go on
    all,     ///< the rest of the control part too, but for the words that name the format
  };
  /// One write, at a place and of a value that the input names. Ports are in the first slots.
  void write(input& from, reach where);

  wires::shm::control_part& control() const { return *control_; }
  std::byte* ring(unsigned consumer, unsigned producer) const {
    return base_ + wires::shm::ring_offset(consumer, producer);
  }
  /// A slot that the input names: most often one that is in use, or the child's.
  static unsigned slot_of(input& from);

 private:
  hostile_file();
  void start_keeper();
  void write_ring(input& from);
  void write_record(input& from);
  void write_rest(input& from);

  std::string name_, path_;
  int number_ = -1;
  std::byte* base_ = nullptr;
  wires::shm::control_part* control_ = nullptr;
};

/// A word near `now`, near a word that makes sense, or any word.
std::uint64_t hostile_word(input& from, std::uint64_t now);

}  // namespace freehca::fuzz
