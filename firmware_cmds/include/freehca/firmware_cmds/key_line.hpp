// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/list.hpp>

namespace freehca {

class command;

enum class object_kind : std::uint8_t { none, eq, cq, qp, srq, mpt, mcg, port, context_memory };

/// The object that a command works on. Commands with equal keys never overlap. If an object
/// executes a command, the firmware answers resource_busy to another command on this object (Linux
/// 6.1 cmd.c CMD_STAT_RESOURCE_BUSY).
struct object_key {
  object_kind kind = object_kind::none;
  std::uint64_t number = 0;
  friend constexpr bool operator==(const object_key&, const object_key&) = default;
};

/// The commands of all clients on one object. One command holds the line: it may be posted, or the
/// firmware has it. The others wait behind it in the order of their submission.
struct key_line {
  key_line* low = nullptr;
  key_line* high = nullptr;
  std::uint64_t rank = 0;
  object_key key;  ///< if the kind is none, the line is not in use
  list<command> waiting;

  bool in_use() const { return key.kind != object_kind::none; }
};

/// All lines that are in use. A search tree finds a line by its key in logarithmic time. The tree
/// needs no rebalancing, because it is ordered by a hash.
class key_lines {
 public:
  /// Returns null if there is no line with this key.
  key_line* find(const object_key& key);
  /// No line in the tree may have this key.
  void add(key_line& line, const object_key& key);
  /// `successor` takes over the key and the waiting commands.
  void replace(key_line& line, key_line& successor);
  /// No command may wait in the line.
  void remove(key_line& line);

 private:
  key_line** place_of(std::uint64_t rank, const object_key& key);
  key_line* root_ = nullptr;
};

}  // namespace freehca
