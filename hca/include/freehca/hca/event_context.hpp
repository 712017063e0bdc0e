// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>

#include <freehca/hca/events.hpp>

namespace freehca {

/// One event queue with its vector. Created and destroyed by the device; polled by one owner thread, that of
/// the asynchronous queue by device::poll(). Every event is handed to the typed sinks; command completions go
/// to the channel.
class event_context {
 public:
  event_context() = default;
  event_context(const event_context&) = delete;
  event_context& operator=(const event_context&) = delete;

  /// What CQ contexts name.
  std::uint32_t eqn() const { return eqn_; }
  unsigned vector() const { return vector_; }
  bool is_open() const { return ring_.host != nullptr; }

  /// Handles what has come, at most `limit` events, tells the device how far, and arms the vector again.
  /// Returns the number of events.
  unsigned poll(unsigned limit = ~0u);
  /// Set by the interrupt since the last poll(): there may be events. Any thread.
  bool notified() const { return notified_.load(std::memory_order_relaxed); }
  /// From interrupt context or any thread: only takes note.
  void notify() noexcept {
    notified_.store(true, std::memory_order_release);
    interrupts_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Before the queue's owner polls for the first time.
  void set_sinks(const event_sinks& to) { sinks_ = to; }
  event_statistics statistics() const {
    event_statistics s = statistics_;
    s.interrupts = interrupts_.load(std::memory_order_relaxed);
    return s;
  }

 private:
  friend class device;
  struct internal_sinks {
    void* context = nullptr;
    void (*port)(void* context, unsigned port, layouts::event_type type) noexcept = nullptr;
    void (*failed)(void* context) noexcept = nullptr;
  };

  /// `ring` is for 2^log_entries entries of `entry_bytes` bytes, `doorbell` the EQ's word in its UAR page;
  /// `commands` is null for a completion queue.
  void open(std::uint32_t eqn, unsigned vector, const dma_region& ring, unsigned log_entries, unsigned entry_bytes,
            const mmio_region& doorbell, channel* commands);
  void close();
  void arm();
  void dispatch(const std::byte* entry);
  std::byte* entry_at(std::uint32_t counter) const;

  dma_region ring_;
  mmio_region doorbell_;
  channel* commands_ = nullptr;
  event_sinks sinks_;
  internal_sinks device_;
  event_statistics statistics_;
  std::atomic<std::uint64_t> interrupts_{0};
  std::atomic<bool> notified_{false};
  std::uint32_t eqn_ = 0;
  std::uint32_t consumer_ = 0;
  unsigned vector_ = 0;
  unsigned log_entries_ = 0;
  unsigned entry_bytes_ = 32;
};

}  // namespace freehca
