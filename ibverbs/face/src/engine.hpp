// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <freehca/hca/device.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/hca/objects/verbs.hpp>
#include <freehca/in_program/adapter.hpp>

#include "errors.hpp"
#include "fabric_link.hpp"
#include "uncancellable.hpp"

namespace freehca::ibverbs {

/// How many objects of each kind a process can have. The device attributes report these numbers.
struct object_limits {
  static constexpr unsigned log_numbers = 14;       // of queue pairs, CQs, regions
  static constexpr unsigned log_translations = 20;  // pages of all regions and queues
  static constexpr std::uint32_t queue_pairs = 12'000, completion_queues = 12'000,
                                 shared_receive_queues = 1'000, regions = 12'000, domains = 4'000,
                                 address_handles = 8'000;
  static constexpr std::uint32_t completions = 65'535;  // of one CQ
  static constexpr std::uint32_t requests = 4'000'000;  // of all queues together
};

/// The adapter of this process and its driver. One lock serialises all calls into the driver and
/// its rings. A forked child has none of its own until it opens the device.
class engine {
 public:
  /// The engine of this process. The first call makes it and brings the adapter up. Returns null
  /// and the reason on failure.
  static engine* get(std::string& why);
  /// The same, but never makes one.
  static engine* present() { return present_; }
  /// When the process ends in order: leaves the fabric. Other threads of the program may still be
  /// in calls, and its own exit functions may still destroy objects. So the adapter and the driver
  /// stay.
  void leave();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Holds `lock`.
  class guard {
   public:
    explicit guard(std::mutex& which) : held_(which) {}

   private:
    uncancellable stays_;
    std::lock_guard<std::mutex> held_;
  };
  std::mutex lock;

  /// All below with `lock`.
  verbs& objects() { return objects_; }
  device& hardware() { return device_; }
  in_program::adapter& adapter() { return *adapter_; }

  /// Runs adapter and driver until the operation has ended.
  template <class Operation>
  status finish(Operation& op) {
    while (!op.done()) run();
    return op.outcome();
  }
  /// Starts an operation on the objects, with these arguments, and runs it to its end. Returns 0,
  /// or an errno.
  template <class Operation, class... Arguments>
  int perform(Operation& op, const Arguments&... arguments) {
    op.start(objects_, arguments...);
    return errno_of(finish(op));
  }
  /// Delivers all events that are due.
  void poll_events();
  /// The same, if the adapter has sent an interrupt.
  void poll_events_if_any() {
    if (adapter_->take_interrupt()) poll_events();
  }

  /// Whether the process was forked after this engine was made. Its adapter is then the parent's,
  /// and its objects are dead.
  bool dead() const { return dead_.load(std::memory_order_relaxed); }

  // What does not change while the adapter is up.
  const std::vector<std::uint64_t>& guids() const { return guids_; }
  const std::vector<std::uint16_t>& pkeys() const { return pkeys_; }

 private:
  engine() = default;
  status open(std::string& why);
  status bring_up();
  status take_lid();
  status read_tables();
  void run();
  void write_counters() const;
  static void forked();

  static engine* present_;

  std::atomic<bool> dead_{false};
  bool in_real_time_ = false;
  std::unique_ptr<fabric_link> link_;
  std::unique_ptr<in_program::adapter> adapter_;
  std::byte* device_storage_ = nullptr;
  std::byte* object_storage_ = nullptr;
  std::vector<std::uint64_t> guids_;
  std::vector<std::uint16_t> pkeys_;
  device device_;
  verbs objects_;
};

}  // namespace freehca::ibverbs
