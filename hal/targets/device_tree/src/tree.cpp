// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/device_tree/tree.hpp>

#include <freehca/layouts/bit_operations.hpp>

namespace freehca::device_tree {
namespace {

/// Words of the header (Devicetree Specification 0.4, 5.2).
enum header : unsigned {
  magic,
  total_size,
  structure_offset,
  strings_offset,
  reservations_offset,
  version,
  last_compatible_version,
  boot_processor,
  strings_size,
  structure_size,
  words
};
constexpr std::uint32_t right_magic = 0xd00dfeed;
/// The first version with the sizes of both blocks, and the one that later ones must stay readable
/// by.
constexpr std::uint32_t known_version = 17;

/// How long the text that begins at `at` is, with its zero byte; 0: it does not end inside.
std::size_t text_bytes(const bytes& block, std::size_t at) {
  for (std::size_t end = at; end < block.size; ++end)
    if (block.at[end] == std::byte{0}) return end - at + 1;
  return 0;
}

const char* text_at(const bytes& block, std::size_t at) {
  return reinterpret_cast<const char*>(block.at + at);
}

std::size_t up_to_word(std::size_t at) {
  return (at + 3) / 4 * 4;
}

}  // namespace

bool same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

std::uint32_t bytes::cell(std::size_t index) const {
  if (index >= cells()) return 0;
  std::uint32_t v = 0;
  __builtin_memcpy(&v, at + 4 * index, sizeof v);
  return layouts::swap_bytes(v);
}

std::uint64_t bytes::number(std::size_t index, unsigned count) const {
  std::uint64_t v = 0;
  for (unsigned i = 0; i < count; ++i) v = v << 32 | cell(index + i);
  return v;
}

bool bytes::is(const char* text) const {
  return at != nullptr && text_bytes(*this, 0) == size &&
         same(reinterpret_cast<const char*>(at), text);
}

status tree::open(const std::byte* blob) {
  if (blob == nullptr) return driver_error::bad_argument;
  const bytes head = {blob, words * sizeof(std::uint32_t)};
  if (head.cell(magic) != right_magic || head.cell(version) < known_version ||
      head.cell(last_compatible_version) > known_version)
    return driver_error::bad_argument;
  const std::size_t size = head.cell(total_size);
  const auto part = [&](header offset, header bytes_of_it) {
    const std::size_t from = head.cell(offset), length = head.cell(bytes_of_it);
    return from <= size && length <= size - from ? bytes{blob + from, length} : bytes{};
  };
  const bytes structure = part(structure_offset, structure_size);
  const bytes strings = part(strings_offset, strings_size);
  if (size < head.size || size > most_bytes || !structure || !strings ||
      head.cell(structure_offset) % 4 != 0)
    return driver_error::bad_argument;
  whole_ = {blob, size};
  structure_ = structure;
  strings_ = strings;
  return {};
}

bool tree::reserved(unsigned index, window& found) const {
  const std::size_t first = whole_.cell(reservations_offset) / 4 + std::size_t{index} * 4;
  found = {whole_.number(first, 2), whole_.number(first + 2, 2)};
  return found.bytes != 0;
}

bool node::take_property(std::size_t& at, const char*& name, bytes& value) const {
  const bytes& s = tree_->structure_;
  while (s.cell(at / 4) == static_cast<std::uint32_t>(token::nothing)) at += 4;
  if (s.cell(at / 4) != static_cast<std::uint32_t>(token::property)) return false;
  const std::size_t size = s.cell(at / 4 + 1), name_at = s.cell(at / 4 + 2), from = at + 12;
  if (from > s.size || size > s.size - from || text_bytes(tree_->strings_, name_at) == 0)
    return false;
  name = text_at(tree_->strings_, name_at);
  value = {s.at + from, size};
  at = up_to_word(from + size);
  return true;
}

status node::enter(std::size_t at) {
  const std::size_t name = text_bytes(tree_->structure_, at);
  if (name == 0 || levels_ == most_levels) return driver_error::bad_argument;
  one_level l;
  l.name = text_at(tree_->structure_, at);
  at_ = l.properties = up_to_word(at + name);
  const char* property = nullptr;
  bytes value;
  while (take_property(at_, property, value)) {
    if (same(property, "#address-cells")) l.address_cells = value.cell(0);
    if (same(property, "#size-cells")) l.size_cells = value.cell(0);
    if (same(property, "ranges")) {
      l.ranges = value;
      l.has_ranges = true;
    }
  }
  // No binding has more: an address of PCI has three cells, and a size 64 bits. Rows are no wider
  // than the sum, which more could make 0.
  if (l.address_cells > most_address_cells || l.size_cells > most_size_cells)
    return driver_error::bad_argument;
  path_[levels_++] = l;
  return {};
}

status node::next() {
  const bytes& s = tree_->structure_;
  for (;; at_ += 4) {
    switch (static_cast<token>(s.cell(at_ / 4))) {
      case token::begin:
        return enter(at_ + 4);
      case token::end:
        if (levels_ == 0) return driver_error::bad_argument;
        --levels_;
        continue;
      case token::nothing:
        continue;
      case token::finish:
        return levels_ == 0 ? driver_error::no_resource : driver_error::bad_argument;
      // A property here is one that take_property() could not read; behind the end stands 0.
      case token::property:
      default:
        return driver_error::bad_argument;
    }
  }
}

bytes node::property_of(const one_level& l, const char* wanted) const {
  std::size_t at = l.properties;
  const char* name = nullptr;
  bytes value;
  while (take_property(at, name, value))
    if (same(name, wanted)) return value;
  return {};
}

bool node::is_below(const char* name) const {
  for (unsigned i = 0; i < levels_; ++i)
    if (property_of(path_[i], name)) return true;
  return false;
}

std::uint32_t node::cell(const char* name, std::uint32_t otherwise) const {
  const bytes value = property(name);
  return value.cells() != 0 ? value.cell(0) : otherwise;
}

bool node::is_compatible(const char* name) const {
  bytes list = property("compatible");
  while (const std::size_t size = list ? text_bytes(list, 0) : 0) {
    if (same(text_at(list, 0), name)) return true;
    list = {list.at + size, list.size - size};
  }
  return false;
}

bool node::is_enabled() const {
  const bytes value = property("status");
  return !value || value.is("okay") || value.is("ok");
}

status node::translate_from(unsigned bus, std::uint64_t& address) const {
  // From the bus that `path_[bus - 1]` is, up to the root, whose addresses are the processor's.
  for (; bus > 1; --bus) {
    const one_level& bridge = path_[bus - 1];
    if (!bridge.has_ranges) return driver_error::unsupported;
    if (bridge.ranges.size == 0) continue;  // the same addresses on both sides (2.3.8)
    const unsigned inside = bridge.address_cells, outside = path_[bus - 2].address_cells;
    const unsigned row = inside + outside + bridge.size_cells;
    bool passed = false;
    for (std::size_t i = 0; !passed && row != 0 && i + row <= bridge.ranges.cells(); i += row) {
      const std::uint64_t from = bridge.ranges.number(i, inside);
      const std::uint64_t size = bridge.ranges.number(i + inside + outside, bridge.size_cells);
      if (address < from || address - from >= size) continue;
      address = address - from + bridge.ranges.number(i + inside, outside);
      passed = true;
    }
    if (!passed) return driver_error::unsupported;
  }
  return {};
}

status node::reg(unsigned index, window& found) const {
  const bytes value = property("reg");
  const unsigned row = parent_address_cells() + parent_size_cells();
  if (levels_ < 2 || row == 0 || value.cells() < (std::size_t{index} + 1) * row)
    return driver_error::no_resource;
  std::uint64_t address = value.number(std::size_t{index} * row, parent_address_cells());
  FREEHCA_TRY(translate_from(levels_ - 1, address));
  found = {address,
           value.number(std::size_t{index} * row + parent_address_cells(), parent_size_cells())};
  return {};
}

status tree::find_compatible(const char* name, node& found) const {
  node n(*this);
  for (;;) {
    FREEHCA_TRY(n.next());
    if (!n.is_compatible(name) || !n.is_enabled()) continue;
    found = n;
    return {};
  }
}

status tree::find_path(bytes path, node& found) const {
  std::size_t end = 0;
  while (end < path.size && path.at[end] != std::byte{0} && path.at[end] != std::byte{':'}) ++end;
  const char* const text = text_at(path, 0);
  if (end == 0) return driver_error::no_resource;
  // How much of the path the nodes from the root to this one are.
  const auto part_of = [&](const char* name, std::size_t from) {
    std::size_t i = from;
    while (i < end && *name != 0 && text[i] == *name) {
      ++i;
      ++name;
    }
    return *name == 0 && (i == end || text[i] == '/') ? i : from;
  };
  node n(*this);
  for (;;) {
    FREEHCA_TRY(n.next());
    if (text[0] != '/') {
      if (n.depth() != 1 || !same(n.name(), "aliases")) continue;
      std::size_t at = n.level().properties;
      const char* alias = nullptr;
      bytes target;
      while (n.take_property(at, alias, target))
        // An alias of an alias is none: that could go on for ever.
        if (part_of(alias, 0) == end && target && target.at[0] == std::byte{'/'})
          return find_path(target, found);
      return driver_error::no_resource;
    }
    std::size_t at = 0;
    unsigned level = 1;
    for (; level < n.levels_ && at < end; ++level) {
      const std::size_t behind = part_of(n.path_[level].name, at + 1);
      if (behind == at + 1) break;
      at = behind;
    }
    if (level != n.levels_ || at != end) continue;
    found = n;
    return {};
  }
}

status tree::find_console(node& found) const {
  node n(*this);
  for (;;) {
    FREEHCA_TRY(n.next());
    if (n.depth() != 1 || !same(n.name(), "chosen")) continue;
    const bytes path = n.property("stdout-path");
    return path ? find_path(path, found) : status(driver_error::no_resource);
  }
}

}  // namespace freehca::device_tree
