// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "link/packet.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Memory of packets that are done with, for those to come: to get and clear 4 KiB anew costs a
/// tenth of all that a packet costs (docs/performance-model.md).
class packet_buffers {
 public:
  /// `bytes` bytes of any value.
  std::vector<std::byte> take(std::size_t bytes) {
    std::vector<std::byte> buffer;
    if (!spare_.empty()) {
      buffer = std::move(spare_.back());
      spare_.pop_back();
    }
    buffer.resize(bytes);
    return buffer;
  }
  /// A copy of these bytes.
  std::vector<std::byte> take(std::span<const std::byte> from) {
    std::vector<std::byte> buffer = take(from.size());
    std::copy(from.begin(), from.end(), buffer.begin());
    return buffer;
  }
  /// `bytes` are done with, and empty from then on.
  void give(std::vector<std::byte>& bytes) {
    if (spare_.size() < most) spare_.push_back(std::move(bytes));
    bytes.clear();
  }
  void give(packet& p) { give(p.bytes); }

 private:
  static constexpr std::size_t most = 64;  ///< what a turn has under way, and no more than 1 MiB
  std::vector<std::vector<std::byte>> spare_;

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {{"spare_", "memory without a value"}};
};

}  // namespace freehca::model
