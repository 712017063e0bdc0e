// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The flattened device tree that firmware hands over: what the machine has, and where. Facts from
// the Devicetree Specification 0.4, chapters 2 and 5.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>

#include <freehca/bare/machine.hpp>

namespace freehca::device_tree {

/// A part of the tree, where it stands; null where there is nothing. Cells are big-endian words of
/// 32 bits.
struct bytes {
  const std::byte* at = nullptr;
  std::size_t size = 0;

  explicit operator bool() const { return at != nullptr; }
  std::size_t cells() const { return size / 4; }
  /// 0 behind the end.
  std::uint32_t cell(std::size_t index) const;
  /// A number of `count` cells that begins at cell `index`. Of more than two cells the last two
  /// count, as in an address of PCI.
  std::uint64_t number(std::size_t index, unsigned count) const;
  /// Whether it is this text, with the zero byte at its end.
  bool is(const char* text) const;
};

/// Whether two texts are the same.
bool same(const char* a, const char* b);

using bare::window;  ///< of addresses as the processor sees them

class node;

/// The whole tree. It is read where it stands and must stay there. Any number of readers, on any
/// threads.
class tree {
 public:
  /// Of a header that cannot be believed: bigger is a mistake, as no machine's tree is.
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  /// `blob` is readable for as many bytes as its header says, up to most_bytes.
  /// driver_error::bad_argument: no tree stands there, or one of a version that this cannot read.
  status open(const std::byte* blob);
  /// As the firmware gave it: what must not be overwritten.
  bytes whole() const { return whole_; }

  /// Entry `index` of what the firmware keeps of memory by the reservation block (5.3); false:
  /// there are not so many.
  bool reserved(unsigned index, window& found) const;

  /// The first node whose property "compatible" lists `name`. driver_error::no_resource: none;
  /// ::bad_argument: the tree is damaged.
  status find_compatible(const char* name, node& found) const;
  /// The node at a path from the root, "/soc/serial@10000000", or behind an alias, "serial0"; what
  /// follows a colon does not count. Errors as above.
  status find_path(bytes path, node& found) const;
  /// Where the firmware writes text: the node that /chosen names. Errors as above.
  status find_console(node& found) const;

 private:
  friend class node;
  bytes whole_, structure_, strings_;
};

/// One node, and the way to it from the root. It refers to the tree.
class node {
 public:
  static constexpr unsigned most_levels = 12;
  static constexpr unsigned most_address_cells = 3, most_size_cells = 2;

  /// Stands before the root.
  explicit node(const tree& of) : tree_(&of) {}
  node() = default;

  /// On to the next node in the tree's order, which is down before sideways.
  /// driver_error::no_resource: there is none; ::bad_argument: the tree is damaged, deeper than
  /// most_levels, or has addresses or sizes of more cells than those.
  status next();

  /// How many nodes are above it: 0 for the root.
  unsigned depth() const { return levels_ - 1; }
  const char* name() const { return level().name; }
  bytes property(const char* name) const { return property_of(level(), name); }
  /// Whether it or a node above it has the property.
  bool is_below(const char* name) const;
  /// The first cell of a property.
  std::uint32_t cell(const char* name, std::uint32_t otherwise) const;
  bool is_compatible(const char* name) const;
  /// False where the property "status" is there and says neither "okay" nor "ok".
  bool is_enabled() const;

  /// Entry `index` of "reg", as the processor sees it. driver_error::no_resource: there are not so
  /// many; ::unsupported: the buses above do not pass the address on.
  status reg(unsigned index, window& found) const;
  /// An address on the bus that the node stands on, as the processor sees it. Errors as above.
  status translate(std::uint64_t& address) const { return translate_from(levels_ - 1, address); }

  /// Cells of an address and of a size on the bus that it stands on.
  unsigned parent_address_cells() const { return above().address_cells; }
  unsigned parent_size_cells() const { return above().size_cells; }

 private:
  friend class tree;
  struct one_level {
    const char* name = nullptr;
    std::size_t properties = 0;  // where they begin in the structure block
    bytes ranges;
    bool has_ranges = false;
    unsigned address_cells = 2, size_cells = 1;  // of its children
  };
  enum class token : std::uint32_t { begin = 1, end = 2, property = 3, nothing = 4, finish = 9 };

  const one_level& level() const { return path_[levels_ - 1]; }
  const one_level& above() const { return path_[levels_ > 1 ? levels_ - 2 : 0]; }
  bytes property_of(const one_level& l, const char* name) const;
  status enter(std::size_t at);
  /// Reads the property at `at`, which it moves on; false at what is none.
  bool take_property(std::size_t& at, const char*& name, bytes& value) const;
  status translate_from(unsigned bus, std::uint64_t& address) const;

  const tree* tree_ = nullptr;
  std::size_t at_ = 0;  // in the structure block: behind the node's properties
  unsigned levels_ = 0;
  one_level path_[most_levels];
};

}  // namespace freehca::device_tree
