// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/list.hpp>

namespace freehca {

class command;

enum class object_kind : std::uint8_t { none, eq, cq, qp, srq, mpt, mcg, port, context_memory };

/// The object that a command works on. Commands with equal keys never overlap: firmware answers
/// resource_busy to a command on an object that is executing another (Linux 6.1 cmd.c
/// CMD_STAT_RESOURCE_BUSY).
struct object_key {
  object_kind kind = object_kind::none;
  std::uint64_t number = 0;
  friend constexpr bool operator==(const object_key&, const object_key&) = default;
};

/// The commands on one object, whoever sent them: one that may be posted or is with the firmware,
/// which holds the line, and those that wait behind it in the order of their submission.
struct key_line {
  key_line* low = nullptr;
  key_line* high = nullptr;
  std::uint64_t rank = 0;
  object_key key;  ///< of kind none: not in use
  list<command> waiting;

  bool in_use() const { return key.kind != object_kind::none; }
};

/// All lines that are in use, found by their key in logarithmic time: a search tree, which needs no
/// rebalancing because it is ordered by a hash.
class key_lines {
 public:
  /// Null when there is none.
  key_line* find(const object_key& key);
  /// There must be none of that key.
  void add(key_line& line, const object_key& key);
  /// `by` takes over the key and those that wait.
  void replace(key_line& line, key_line& successor);
  /// Nobody may wait.
  void remove(key_line& line);

 private:
  key_line** place_of(std::uint64_t rank, const object_key& key);
  key_line* root_ = nullptr;
};

}  // namespace freehca
