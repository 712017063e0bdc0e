// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/queues/cq.hpp>
#include <freehca/queues/directory.hpp>

namespace freehca::bench {

/// A queue pair and its completion queue, without an adapter: memory stands in for its registers,
/// and complete() for what it does.
class stand_in {
 public:
  static constexpr unsigned log_entries = 10;
  static constexpr std::uint32_t qpn = 0x40;

  /// `most_inline`: 0 or 64. Without inline data an entry has 64 bytes, as Linux would have it.
  explicit stand_in(std::uint32_t most_inline);
  /// Ends the process with a message when the rings do not open.
  void open();
  /// The next `count` sends that were posted complete. Ends the process with a message when one is
  /// not the device's.
  void complete(unsigned count);

  queues::qp_rings pair;
  queues::cq cq;

 private:
  std::uint32_t most_inline_;
  queues::qp_directory directory_;
  queues::qp_rings* slots_[64] = {};
  std::vector<queues::posted_request> posted_;
  std::byte *send_ring_, *completion_ring_, *registers_;
  alignas(64) std::byte record_[64] = {};
  queues::sq_shape shape_;
  std::uint32_t completed_ = 0;
};

}  // namespace freehca::bench
