// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/firmware_cmds/key_line.hpp>

#include <freehca/firmware_cmds/command.hpp>

namespace freehca {

namespace {

/// Hashes a key with the finalizer of SplitMix64. Consecutive numbers get ranks that are far apart.
std::uint64_t rank_of(const object_key& key) {
  std::uint64_t x = key.number ^ std::uint64_t{static_cast<std::uint8_t>(key.kind)} << 56;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

bool is_below(std::uint64_t rank, const object_key& key, const key_line& other) {
  if (rank != other.rank) return rank < other.rank;
  if (key.kind != other.key.kind) return key.kind < other.key.kind;
  return key.number < other.key.number;
}

}  // namespace

/// Returns the pointer in the tree to the line with this key, or the null pointer where this line
/// would be added.
key_line** key_lines::place_of(std::uint64_t rank, const object_key& key) {
  key_line** at = &root_;
  while (*at != nullptr && !((*at)->key == key))
    at = is_below(rank, key, **at) ? &(*at)->low : &(*at)->high;
  return at;
}

key_line* key_lines::find(const object_key& key) {
  return *place_of(rank_of(key), key);
}

void key_lines::add(key_line& line, const object_key& key) {
  line.rank = rank_of(key);
  line.key = key;
  line.low = line.high = nullptr;
  key_line** const at = place_of(line.rank, key);
  FREEHCA_ASSERT(*at == nullptr);
  *at = &line;
}

void key_lines::replace(key_line& line, key_line& successor) {
  *place_of(line.rank, line.key) = &successor;
  successor.low = line.low;
  successor.high = line.high;
  successor.rank = line.rank;
  successor.key = line.key;
  successor.waiting.take_all(line.waiting);
  line.key = {};
}

void key_lines::remove(key_line& line) {
  FREEHCA_ASSERT(line.waiting.empty());
  key_line** const at = place_of(line.rank, line.key);
  if (line.low == nullptr || line.high == nullptr) {
    *at = line.low == nullptr ? line.high : line.low;
  } else {
    // The next line in order takes the place of the removed line.
    key_line** next = &line.high;
    while ((*next)->low != nullptr) next = &(*next)->low;
    key_line& heir = **next;
    *next = heir.high;
    heir.low = line.low;
    heir.high = line.high;
    *at = &heir;
  }
  line.key = {};
}

}  // namespace freehca
