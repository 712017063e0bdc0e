// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include "saving/fields.hpp"

namespace freehca::model {

/// The counters that contexts name by index (QUERY_IF_STAT): each counts what the queue pairs that
/// name it send and receive. The last is the sink, which counts nothing, and so does any index past
/// it.
class interface_counters {
 public:
  /// No source for how many; captures: 127 usable, the sink beside them.
  static constexpr unsigned count = 128;
  /// Packets of RoCE are frames here.
  struct counter {
    std::uint64_t received_frames = 0, received_bytes = 0, sent_frames = 0, sent_bytes = 0;

    using saved = saving::fields<&counter::received_frames, &counter::received_bytes,
                                 &counter::sent_frames, &counter::sent_bytes>;
  };

  void received(unsigned index, std::uint64_t bytes) {
    if (index >= count - 1) return;
    ++all_[index].received_frames;
    all_[index].received_bytes += bytes;
  }
  void sent(unsigned index, std::uint64_t bytes) {
    if (index >= count - 1) return;
    ++all_[index].sent_frames;
    all_[index].sent_bytes += bytes;
  }
  const counter& at(unsigned index) const { return all_[index]; }
  void clear(unsigned index) { all_[index] = {}; }
  void clear() { all_ = {}; }

 private:
  std::array<counter, count> all_;

 public:
  using saved = saving::fields<&interface_counters::all_>;
};

}  // namespace freehca::model
