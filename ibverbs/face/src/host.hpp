// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <freehca/hal/platform.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/hca/budget.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca::ibverbs {

class engine;

/// How many objects of each kind a process can have. The device attributes report these numbers.
struct object_limits {
  std::uint32_t queue_pairs, completion_queues, shared_receive_queues, regions, domains,
      address_handles, windows, group_members, flow_rules;
  std::uint32_t completions;  // of one CQ
  std::uint32_t requests;     // of all queues together
};

/// Settings of the driver that depend on where the adapter is.
struct host_settings {
  object_limits limits;
  freehca::budget budget;
  std::uint64_t health_interval;  // device_setup::health_interval
  std::uint64_t port_wait;        // device_setup::port_wait
  bool take_over;                 // device_setup::take_over
};

/// The adapter behind the face, and how the process reaches it. Each library for programs has one
/// implementation: the adapter inside the program (../in_program), or a PCI function over VFIO
/// (../vfio). All calls hold the engine's lock, unless stated otherwise.
class host {
 public:
  /// Opens the adapter that the environment names. Returns null and the reason on failure.
  static std::unique_ptr<host> open(std::string& why);
  /// Whether a forked child has no copy of registered pages.
  static bool hides_memory_from_children();
  /// In a forked child: gives up the parent's adapter. Without the lock.
  static void forked();

  virtual ~host() = default;
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  /// Valid as long as the host.
  virtual freehca::platform platform() = 0;
  virtual const host_settings& settings() const = 0;

  /// After bring-up and before start(): makes ports usable that no subnet manager reaches. Ethernet
  /// ports are open afterwards, and the engine has their tables.
  virtual status prepare_ports(engine& of) = 0;
  /// Starts the host's thread. It calls `serve`, without the lock, after each interrupt, and when
  /// the time that `serve` returned has come (on the platform's clock; 0: at once).
  virtual void start(std::function<std::uint64_t()> serve) = 0;
  /// The process ends in order. Other threads of the program may still be in calls. Without the
  /// lock, which the function takes by itself.
  virtual void leave(engine& of) = 0;

  /// Waits for the adapter, until `deadline` at most. An operation is under way, and the driver's
  /// poll() has found nothing.
  virtual void wait(std::uint64_t deadline) = 0;
  /// Lets the adapter work, if it needs the program's threads for that.
  virtual void work() = 0;
  /// The same, and the calling thread promises to call again soon.
  virtual void work_while_polling() = 0;
  /// The promise alone, of a thread that has just written a doorbell.
  virtual void polls_after_doorbell() {}
  /// Whether the driver's poll() is due, because of an interrupt or a deadline.
  virtual bool take_interrupt() = 0;
  /// Whether the adapter is lost.
  virtual bool is_gone() const = 0;

  /// The MAC of the port that has this GID on the network of the host's Ethernet ports, on the VLAN
  /// or on none (no_vlan). No value: unknown.
  virtual std::optional<std::uint64_t> mac_of(const gid&, std::uint16_t) { return {}; }

  /// A queue pair was attached to a multicast group with this LID, or detached from it.
  virtual void group_changed(std::uint16_t lid, bool attached) {
    static_cast<void>(lid), static_cast<void>(attached);
  }

  /// Why the platform has just refused memory of the program with this errno, and the remedy. A
  /// text for messages that begins with ": ".
  virtual std::string reason(const program_memory& memory, bool write, int error) const = 0;

 protected:
  host() = default;
};

}  // namespace freehca::ibverbs
