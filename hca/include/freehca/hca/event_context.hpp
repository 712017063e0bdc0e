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

class device;
struct object_event;

/// One event queue with its interrupt vector. The device creates and destroys it. One owner thread
/// polls it; device::poll() polls the asynchronous queue. Events go to the sinks. Command
/// completions go to the channel. Not copyable, because members are atomic.
class event_context {
 public:
  /// The number of the event queue, for CQ contexts.
  std::uint32_t eqn() const { return eqn_; }
  unsigned vector() const { return vector_; }
  /// True if other event queues use the same vector, because the platform has fewer vectors than
  /// there are queues.
  bool shares_vector() const { return shares_vector_; }
  bool is_open() const { return ring_.is_open(); }

  /// Handles the pending events and returns their number. One call handles at most `limit` events,
  /// and at most as many as the ring has entries. A device that never stops therefore does not keep
  /// the owner in this call, and due() reports that there is more.
  ///
  /// The first call that finds no event arms the vector again and writes the consumer index. In the
  /// queue of command completions, the third such call in succession does so. The owner has then
  /// issued its next command before the vector is armed. If the answer is in the queue when the
  /// owner looks again, it causes no interrupt. Until the vector is armed, the driver writes the
  /// consumer index only as often as needed, so that the ring cannot run full. While events come as
  /// fast as they are handled, none of them causes an interrupt.
  unsigned poll(unsigned limit = ~0u);
  /// True if poll() must be called at once, because no interrupt will report it: an interrupt came
  /// since the last call, or the vector is not armed. Called by the owner's thread.
  bool due() const { return (!armed() && !ending()) || interrupts_.unseen(); }
  /// Notes an interrupt and does nothing else. Called in interrupt context or by another thread.
  /// Calls must not overlap.
  void notify() noexcept { interrupts_.note(); }

  /// Counts the completion queues whose events go to this event queue. Called by the owner's
  /// thread.
  void attach() { ++completion_queues_; }
  void detach() { --completion_queues_; }
  bool in_use() const { return completion_queues_ != 0; }

  /// Must be called before the first poll() of the owner.
  void set_sinks(const event_sinks& to) { sinks_ = to; }
  event_statistics statistics() const {
    event_statistics s = statistics_;
    s.interrupts = interrupts_.noted();
    return s;
  }

 private:
  friend class device;
  friend class verbs;
  /// Returns true if the event concerns the device, a port, or an object of another owner, who then
  /// receives it. Null for a completion event queue, to which no asynchronous event goes.
  using asynchronous_sink = bool(device& to, const layouts::image<layouts::eqe>& event) noexcept;

  /// `commands` is null for a completion event queue. Errors: driver_error::bad_argument from
  /// queues::eq::open().
  status open(std::uint32_t eqn, unsigned vector, bool shares_vector,
              const queues::eq_resources& ring, channel* commands);
  void close();
  /// Called before the queue is destroyed or the device is reset. From then on the doorbell is not
  /// written for arming.
  void end_arming() { ending_.store(true, std::memory_order_relaxed); }
  bool ending() const { return ending_.load(std::memory_order_relaxed); }
  /// True if the device interrupts at the next event, or has done so.
  bool armed() const { return looks_until_armed_ == 0; }
  void dispatch(const layouts::image<layouts::eqe>& entry);
  void dispatch_to_object(const layouts::image<layouts::eqe>& entry);
  void notice(std::uint32_t cqn, const object_event& event);

  queues::eq ring_;
  channel* commands_ = nullptr;
  event_sinks sinks_;
  device* device_ = nullptr;
  asynchronous_sink* asynchronous_ = nullptr;
  event_statistics statistics_;
  interrupt_count<> interrupts_;
  unsigned looks_until_armed_ = 0;
  std::atomic<bool> ending_{false};  // written by the control owner
  std::uint32_t eqn_ = 0;
  unsigned vector_ = 0;
  bool shares_vector_ = false;
  std::uint32_t completion_queues_ = 0;
};

}  // namespace freehca
