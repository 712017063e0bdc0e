// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/layouts/cqe.hpp>

#include <freehca/queues/cq.hpp>
#include <freehca/queues/directory.hpp>
#include <freehca/queues/srq.hpp>

namespace freehca::bench {

/// A queue pair, a shared receive queue and their completion queue, without an adapter: memory
/// stands in for its registers, and complete() for what it does.
class stand_in {
 public:
  static constexpr unsigned log_entries = 10;
  static constexpr std::uint32_t qpn = 0x40;

  /// `most_inline`: 0 or 64. Without inline data an entry has 64 bytes, as Linux would have it; of
  /// datagrams 128.
  explicit stand_in(std::uint32_t most_inline, bool datagrams = false);
  /// Ends the process with a message when the rings do not open.
  void open();
  /// The next `count` sends that were posted complete. Ends the process with a message when one is
  /// not the device's.
  void complete(unsigned count);
  /// The next `count` sends complete with an entry for the last of them, which alone is signaled.
  void complete_last_of(unsigned count) {
    completed_ += count - 1;
    complete(1);
  }
  /// The next `count` receives that were posted complete with 64 bytes each: those of the shared
  /// queue when `shared`, in the order of its list.
  void complete_receives(unsigned count, bool shared);

  queues::qp_rings pair;
  queues::srq shared;
  queues::cq cq;

 private:
  /// The next entry of the completion queue, but for its owner bit.
  void produce(layouts::image<layouts::cqe> e);

  std::uint32_t most_inline_;
  bool datagrams_;
  queues::qp_directory directory_;
  queues::qp_rings* slots_[64] = {};
  std::vector<queues::posted_request> posted_, receives_, shared_receives_;
  std::byte *send_ring_, *receive_ring_, *shared_ring_, *completion_ring_, *registers_;
  alignas(64) std::byte record_[64] = {};
  queues::sq_shape shape_;
  queues::rq_shape receive_shape_;
  queues::srq_shape shared_shape_;
  std::uint32_t completed_ = 0;  // sends
  std::uint32_t received_ = 0;   // own
  std::uint32_t produced_ = 0;
  std::uint32_t next_shared_ = 0;  // entry of the shared queue
};

}  // namespace freehca::bench
