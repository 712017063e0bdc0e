// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/device_tree/tree.hpp>

namespace freehca::device_tree {

/// The serial line that the firmware writes to, as the firmware has set it up: nothing is
/// configured here. One that was never found swallows what it is given.
class serial_line {
 public:
  /// Where the tree names no console, the first line of a kind that is known.
  /// driver_error::no_resource: there is none; ::unsupported: the console is neither a PL011 nor a
  /// 16550.
  status find(const tree& in);

  /// Where there is no tree to find it in. `compatible` is one of those that find() knows. Of a
  /// 16550, in bytes: `step` from one register to the next (2 to the power of "reg-shift") and
  /// `access` to one of them, 1 or 4 ("reg-io-width"). A PL011's are its own.
  void assume(const char* compatible, const window& registers, std::size_t step = 1,
              unsigned access = 1);

  /// Where its registers are, to be mapped; and where they were mapped.
  const window& registers() const { return registers_; }
  void mapped(std::byte* at) { at_ = at; }

  /// Writes a byte when the line has room, or after a million looks at a line that has none. A line
  /// that was waited for in vain gets one look a byte until it has room again. Returns how many
  /// looks found no room.
  unsigned put(char c);

  /// One byte that has come; as machine::get(). False: none has.
  bool get(char* to) const;

 private:
  /// What registers a line has: offsets in bytes, and bits of the one that tells of room and of
  /// what has come. Bits of that one tell of damage too, or bits beside the byte.
  struct shape {
    const char* compatible;
    std::size_t data, state;
    std::uint32_t room_bits;
    bool room_when_set;
    std::uint32_t came_bits;
    bool came_when_set;
    std::uint32_t damage_bits;
    bool damage_beside;
  };
  static const shape shapes[];

  bool has_room() const;
  std::uint32_t read(std::size_t offset) const;
  void write(std::size_t offset, std::uint32_t value) const;

  window registers_;
  std::byte* at_ = nullptr;
  const shape* shape_ = nullptr;
  unsigned bytes_ = 1;    // of an access
  std::size_t step_ = 1;  // from one register of a 16550 to the next
  bool stopped_ = false;  // it was waited for in vain
};

}  // namespace freehca::device_tree
