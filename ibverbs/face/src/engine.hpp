// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <freehca/hca/adapter_monitor.hpp>
#include <freehca/hca/device.hpp>
#include <freehca/hca/device_clock.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/hca/objects/verbs.hpp>
#include <freehca/hca/port_addresses.hpp>

#include "errors.hpp"
#include "explanation.hpp"
#include "host.hpp"
#include "uncancellable.hpp"

namespace freehca::ibverbs {

/// A mutex that knows which thread has locked it by lock().
class engine_lock : public std::mutex {
 public:
  void lock() {
    std::mutex::lock();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  void unlock() {
    holder_.store({}, std::memory_order_relaxed);
    std::mutex::unlock();
  }
  /// Whether the calling thread holds the lock.
  bool held() const {
    return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  std::atomic<std::thread::id> holder_{};
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
  /// The process ends in order. Other threads of the program may still be in calls, and its own
  /// exit functions may still destroy objects.
  void leave();
  /// Takes the device down at the end of the process, unless the program has it open still: its
  /// threads may be in calls.
  void tear_down();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Holds `lock`.
  class guard {
   public:
    explicit guard(engine_lock& which) : held_(which) {}

   private:
    uncancellable stays_;
    std::lock_guard<engine_lock> held_;
  };
  engine_lock lock;

  /// All below with `lock`.
  verbs& objects() { return objects_; }
  device& hardware() { return device_; }
  ibverbs::host& host() { return *host_; }
  /// The part number that programs are told: that of FREEHCA_PART_ID, or the adapter's own.
  std::uint32_t part_id() const { return part_id_ ? part_id_ : device_.info().pci_device; }
  const object_limits& limits() const { return host_->settings().limits; }

  /// Polls the driver once. If that ends nothing, waits for the adapter.
  void run();

  /// Runs adapter and driver until the operation has ended.
  template <class Operation>
  status finish(Operation& op) {
    while (!op.done()) run();
    return op.outcome();
  }
  /// Starts an operation on the objects, with these arguments, and runs it to its end.
  template <class Operation, class... Arguments>
  status outcome_of(Operation& op, const Arguments&... arguments) {
    op.start(objects_, arguments...);
    const status outcome = finish(op);
    // The end of the operation may have taken an interrupt, which is armed again by this.
    poll_events_if_any();
    return outcome;
  }
  /// The same. Returns 0, or an errno.
  template <class Operation, class... Arguments>
  int perform(Operation& op, const Arguments&... arguments) {
    return errno_of_refusal(outcome_of(op, arguments...));
  }
  /// The errno of an outcome. Its reason is kept for the explanation of the call.
  int errno_of_refusal(status outcome) {
    because(outcome, objects_.refused());
    return errno_of(outcome);
  }
  /// Delivers all events that are due.
  void poll_events();
  /// The same, if an interrupt or a deadline of the driver is due.
  void poll_events_if_any() {
    if (host_->take_interrupt()) poll_events();
  }

  /// The multicast table of the adapter. The first call makes it.
  result<multicast_table_handle> groups() {
    if (objects_.find(groups_) != nullptr) return groups_;
    const result<multicast_table_handle> made = objects_.create<multicast_table>();
    if (made.ok()) groups_ = made.value();
    return made;
  }

  /// The clock of the adapter, or null if it has none. The first call finds it.
  const device_clock* clock();

  /// Whether the objects are dead: the process was forked after this engine was made, so that the
  /// adapter is the parent's, or the device was taken down.
  bool dead() const { return dead_.load(std::memory_order_relaxed); }

  /// The tables of a port. Those of an Ethernet port do not change while the adapter is up.
  struct port_tables {
    std::vector<std::uint64_t> guids;  ///< of an InfiniBand port
    std::vector<std::uint16_t> pkeys;
    // Of an Ethernet port. Its other GIDs are zeros.
    std::vector<port_gid> gids;
    std::vector<std::uint16_t> gid_vlans;  ///< of each of them, or no_vlan
    std::uint64_t mac = 0;
    std::string network_device;  ///< the name that files show
  };
  bool is_port(std::uint32_t number) const { return number >= 1 && number <= ports_.size(); }
  unsigned ports() const { return static_cast<unsigned>(ports_.size()); }
  const port_tables& port(std::uint32_t number) const { return ports_[number - 1]; }
  /// For the host, in prepare_ports(): the tables of an Ethernet port.
  void set_tables(std::uint32_t number, port_tables to) { ports_[number - 1] = std::move(to); }
  /// For the events: a block of a table of an InfiniBand port was read again.
  void take_table(unsigned port, port_change what, unsigned block, const subnet_query& read);

 private:
  engine();
  status open(std::string& why);
  status bring_up();
  status read_tables();
  status read_tables(unsigned port, port_tables& to);
  static void forked();

  static engine* present_;

  std::atomic<bool> dead_{false};
  bool reported_gone_ = false;
  std::uint32_t part_id_ = 0;  // 0: not chosen
  std::unique_ptr<ibverbs::host> host_;
  std::byte* device_storage_ = nullptr;
  std::byte* object_storage_ = nullptr;
  std::vector<port_tables> ports_;
  device device_;
  adapter_monitor monitor_;  // ends before the device
  verbs objects_;
  multicast_table_handle groups_;
  device_clock clock_;
  bool clock_sought_ = false, clock_found_ = false;
};

}  // namespace freehca::ibverbs
