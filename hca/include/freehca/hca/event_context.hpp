// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/hal/atomics.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/queues/eq.hpp>

#include <freehca/hca/events.hpp>

namespace freehca {

/// One event queue with its vector. Created and destroyed by the device; polled by one owner
/// thread, that of the asynchronous queue by device::poll(). Every event is handed to the typed
/// sinks; command completions go to the channel. Its atomics make it not copyable.
class event_context {
 public:
  /// What CQ contexts name.
  std::uint32_t eqn() const { return eqn_; }
  unsigned vector() const { return vector_; }
  /// Other event queues have the same vector: the platform gave fewer than there are queues.
  bool shares_vector() const { return shares_vector_; }
  bool is_open() const { return ring_.is_open(); }

  /// Handles what has come, at most `limit` events and no more than the ring has places: a device
  /// that never stops does not keep its owner in the call, and due() says that there is more. The
  /// vector is armed again by the first call that finds nothing, which also tells the device how
  /// far; before that it is told only so often that the ring cannot run full. As long as events
  /// come as fast as they are handled, none of them interrupts. Returns the number of events.
  unsigned poll(unsigned limit = ~0u);
  /// poll() is to be called at once, and no interrupt will say so: one came since the last call, or
  /// the vector is not armed. Its owner's thread.
  bool due() const { return (!armed_ && !ending()) || interrupts_.unseen(); }
  /// From interrupt context or another thread, one at a time: only takes note.
  void notify() noexcept { interrupts_.note(); }

  /// A completion queue that it tells of comes, or goes. The owner's thread.
  void attach() { ++completion_queues_; }
  void detach() { --completion_queues_; }
  bool in_use() const { return completion_queues_ != 0; }

  /// Before the queue's owner polls for the first time.
  void set_sinks(const event_sinks& to) { sinks_ = to; }
  event_statistics statistics() const {
    event_statistics s = statistics_;
    s.interrupts = interrupts_.noted();
    return s;
  }

 private:
  friend class device;
  friend class event_verbs;
  struct internal_sinks {
    void* context = nullptr;
    void (*port)(void* context, unsigned port) noexcept = nullptr;
    /// An event that tells of the device itself, none of its objects or ports.
    void (*condition)(void* context, layouts::event_type what) noexcept = nullptr;
    /// True: the event is of an object that another owner has, who hears of it.
    bool (*relay)(void* context, const layouts::image<layouts::eqe>& event) noexcept = nullptr;
  };

  /// `commands` is null for a completion queue. driver_error::bad_argument from the ring.
  status open(std::uint32_t eqn, unsigned vector, bool shares_vector,
              const queues::eq_resources& ring, channel* commands);
  void close();
  /// The queue is about to be destroyed, or the device reset: from here on the doorbell is left
  /// alone.
  void end_arming() { ending_.store(true, std::memory_order_relaxed); }
  bool ending() const { return ending_.load(std::memory_order_relaxed); }
  void dispatch(const layouts::image<layouts::eqe>& entry);
  void dispatch_to_object(const layouts::image<layouts::eqe>& entry);

  queues::eq ring_;
  channel* commands_ = nullptr;
  event_sinks sinks_;
  internal_sinks device_;
  event_statistics statistics_;
  interrupt_count<> interrupts_;
  bool armed_ = true;                // the device will interrupt for the next event, or has
  std::atomic<bool> ending_{false};  // the control owner says so
  std::uint32_t eqn_ = 0;
  unsigned vector_ = 0;
  bool shares_vector_ = false;
  std::uint32_t completion_queues_ = 0;
};

}  // namespace freehca
