// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the bare-metal targets ask of a machine (freehca/bare/machine.hpp), as its device tree says.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/machine.hpp>
#include <freehca/bare/trouble.hpp>
#include <freehca/device_tree/tree.hpp>

namespace freehca::device_tree {

/// Copied out of the tree, whose memory may be used for other things afterwards. One owner.
class board {
 public:
  static constexpr std::size_t most_command_line = 256;  ///< bytes; the rest is cut off

  /// `image` is an address in the memory that the image lies in.
  bare::trouble read(const tree& from, std::uint64_t image);

  /// All the memory that `image` lies in. It ends where the firmware keeps something for itself.
  const bare::window& memory() const { return memory_; }
  const char* command_line() const { return command_line_; }
  /// The first host bridge with generic configuration space. Whether there is one, is told here: an
  /// image can say more than that before it needs one. Devices below it must see memory as the
  /// processor's caches do; `unless_said` is whether they do where the tree is silent, which
  /// differs between architectures (Devicetree Specification 0.4, 2.3.10 and 2.3.11).
  bare::trouble find_pci(bool unless_said, bare::pci_host* to) const;

 private:
  bare::trouble read_memory(const tree& from, std::uint64_t image);
  void end_memory_at(std::uint64_t reserved, std::uint64_t image);
  void read_command_line(const tree& from);
  void read_pci(const tree& from);
  enum class coherence : std::uint8_t { not_said, coherent, incoherent };

  bare::window memory_;
  bare::pci_host pci_;
  status pci_found_ = driver_error::no_resource;
  coherence pci_coherence_ = coherence::not_said;
  char command_line_[most_command_line] = {};
};

}  // namespace freehca::device_tree
