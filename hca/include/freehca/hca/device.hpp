// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <freehca/hal/clock.hpp>
#include <freehca/hal/fields.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/platform.hpp>

#include <freehca/hca/bring_up.hpp>
#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/device_control.hpp>
#include <freehca/hca/device_info.hpp>
#include <freehca/hca/device_plan.hpp>
#include <freehca/hca/device_ports.hpp>
#include <freehca/hca/device_sequence.hpp>
#include <freehca/hca/event_context.hpp>
#include <freehca/hca/health.hpp>
#include <freehca/hca/owner_registry.hpp>
#include <freehca/hca/pci_function.hpp>
#include <freehca/hca/port_operation.hpp>

namespace freehca {

struct device_watch;
namespace layouts {
struct init_hca;
}

/// The defaults of device_setup::port_wait and ::link_wait. No source: chosen
/// (docs/decisions/bring-up.md).
inline constexpr std::uint64_t default_port_wait = clock::seconds(10);
inline constexpr std::uint64_t default_link_wait = clock::seconds(2);

class device;

/// Writes the parameters of a steering mode into the input of INIT_HCA, which has the tables
/// already, or into the answer that QUERY_HCA has to give.
using steering_writer = status (*)(const device&, layouts::image<layouts::init_hca>& to);
status multicast_table_steering(const device& d, layouts::image<layouts::init_hca>& to);

/// The parameters of device::open(). Platform and storage outlive the device object.
struct device_setup {
  freehca::platform platform;
  freehca::budget budget;
  std::byte* storage = nullptr;  ///< device::storage_bytes(budget), aligned to 16
  std::size_t storage_bytes = 0;
  bool use_interrupts = true;  ///< if false, event queues are polled
  /// The time between two checks for an internal error of the device, in nanoseconds. poll() checks
  /// from INIT_HCA until teardown. If the platform's port polls by next_deadline(), the driver
  /// detects an error at most this much later. The value must be more than 0. With clock::never,
  /// poll() checks only after INIT_HCA and at the end of each bring-up. Linux checks every 5 s (6.1
  /// catas.c). One check reads one register, so the driver checks more often. No source: chosen.
  std::uint64_t health_interval = clock::milliseconds(100);
  /// The maximum time that bring-up waits for its InfiniBand ports to become active, in
  /// nanoseconds. With 0 it does not wait. A deadline of the bring-up ends the wait earlier. If a
  /// port is not active by then, the bring-up does not fail: event_sinks::port reports when the
  /// port becomes active.
  std::uint64_t port_wait = default_port_wait;
  /// The part of port_wait in which a port must detect a partner at the other end of its cable, in
  /// nanoseconds. A port that detects none is assumed to have no cable, and the bring-up waits for
  /// it no longer. If its link comes up later, event_sinks::port reports it.
  std::uint64_t link_wait = default_link_wait;
  /// If true, the driver takes a device whose semaphores are held, because the last owner died and
  /// did not release them. It ignores the ownership semaphore at once. It ignores the flash
  /// semaphore after the maximum time that a tool may hold it. The caller guarantees that no other
  /// process uses the device.
  bool take_over = false;
  /// How the device steers packets to queue pairs: by the multicast table, or by rules
  /// (steer_by_rules).
  steering_writer steering = &multicast_table_steering;
  /// Wakes the control owner. Another owner's thread calls it if it has a request while the control
  /// owner sleeps (prepare_to_sleep()). Null if the control owner does not sleep, or wakes up by
  /// itself.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
  /// Whether the calling thread has entered the control owner. Debug builds ask it in the control
  /// owner's verbs object. All builds ask it when an operation of an event owner is destroyed.
  entry_check entry{};
};

enum class device_state : std::uint8_t {
  closed,
  down,  ///< no memory is lent, and the driver does not own the device
  bringing_up,
  up,
  tearing_down,
  /// The bring-up ended, but one of its commands was not answered. The resources that this command
  /// put at risk are in doubt.
  in_doubt,
  failed,  ///< the device is gone or in error: tear_down() resets it
};

/// The control owner of one adapter. All work is done inside poll(). No call waits. One thread at a
/// time uses the device: it has entered the control owner.
class device {
 public:
  /// Returns the bytes of `device_setup::storage` that a budget needs.
  static constexpr std::size_t storage_bytes(const budget& b) {
    return device_plan(b).storage_bytes;
  }
  /// Returns the bytes of DMA memory that open() requests from the platform, in one block.
  static constexpr std::size_t dma_bytes(const budget& b) { return device_plan(b).dma_bytes; }

  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() { close(); }

  /// Maps the BARs and allocates the DMA memory. Sends nothing to the device. Errors:
  /// driver_error::bad_argument (if `where` is not 0, it is the budget::item that is too large for
  /// another one), ::no_memory (`where`: budget::item), ::bad_state (the device is open already),
  /// transport_error::bad_reply (BAR 0 is too small), or the error of the platform.
  status open(const device_setup& setup);
  /// Releases the resources of open(). The device should be down. If it is not, close() first stops
  /// its DMA: by the platform's reset, else by switching bus mastering off, else by the reset
  /// register (docs/decisions/closing.md). close() waits for nothing.
  void close();

  /// Resets the device and starts the firmware, context memory, event queues and ports. The device
  /// must be down. The outcome's `where` is the bring_up_step. failure() has the cause.
  /// driver_error::busy at take_ownership means that another driver owns the device.
  ///
  /// If the firmware refuses a command, the driver undoes all steps before the operation completes.
  /// If a command is not answered, the operation completes at once, and the device is in_doubt.
  /// poll() undoes the other steps when the late answer comes. tear_down() ends the doubt by a
  /// reset.
  ///
  /// If the operation is cancelled, the driver undoes all steps before the operation completes. If
  /// a reset has begun, the driver finishes it first. If the deadline passes, the operation ends in
  /// the same way, with transport_error::timeout. The wait for the ports is the last step. It ends
  /// before the deadline, and the bring-up then succeeds.
  void bring_up(operation& done);

  /// Undoes all steps in reverse order, from any state. The device is then down. If the device does
  /// not answer, or if users still hold objects or have commands in doubt, the driver resets the
  /// device. If the reset fails, the driver switches bus mastering off, so that the device cannot
  /// access memory. In both cases the objects of the users are gone. If both fail and the device is
  /// not gone, the device is failed. If the deadline passes, the driver sends no further commands
  /// but resets the device, and the outcome is transport_error::timeout.
  ///
  /// If there are event owners, the driver resets the device. Each event owner must then stop using
  /// it, in its poll(). The operation waits without limit for an event owner that does not poll
  /// (awaited_owner() returns its name). If the operation is cancelled or its deadline passes, it
  /// waits at most until ten seconds after the reset. If an event owner still uses the device then,
  /// the device is failed.
  void tear_down(operation& done);

  /// Resets the device, undoes all steps, and brings the device up again, from any state. Objects
  /// are gone and commands end as in a tear_down() that resets. If the device is down, recover() is
  /// a bring_up(). If the driver is undoing a bring-up already, recover() continues that without a
  /// reset. If the operation is cancelled or its deadline passes, it ends after a reset that has
  /// begun. The device is then down, or in the state that an interrupted bring_up() leaves. The
  /// outcomes are those of bring_up().
  void recover(operation& done);

  /// Processes mail, the asynchronous event queue, commands, context memory and sequences. Checks
  /// the device's health at intervals. The owners of completion contexts poll these themselves.
  /// Returns the number of operations and events handled.
  unsigned poll();
  /// Returns the latest time of the next poll() if no interrupt comes, on the platform's clock. 0
  /// means at once.
  std::uint64_t next_deadline() const;
  /// Called by the control owner's thread before it sleeps, after a poll() that found nothing to
  /// do. Returns false if another owner has made a request since. If it returns true, the next
  /// request of another owner calls device_setup::wake.
  bool prepare_to_sleep() { return control_.reactor.mail.prepare_to_sleep(); }

  /// Reports that interrupt vector `vector` fired. Called in interrupt context or by any thread.
  /// Calls for the same vector must not overlap. If the platform has armed the interrupts, it calls
  /// this function already.
  void on_interrupt(unsigned vector) noexcept;
  /// Reports that the device is lost (hot removal). Everything under way ends with
  /// transport_error::gone. Called on the control owner's thread. verbs_events::device_failed is
  /// called before mark_as_lost() returns.
  void mark_as_lost();

  device_state state() const { return state_; }
  bool up() const { return state_ == device_state::up; }
  /// The step at which the last sequence stopped, and the cause. The cause is ok if the sequence
  /// did not fail.
  const sequence_failure& failure() const { return sequence_.failure; }
  /// The current step of a sequence, to show progress.
  bring_up_step step() const { return sequence_.step(); }

  // The resources of verbs objects. Valid while the device is up.
  const freehca::platform& platform() const { return setup_.platform; }
  const freehca::budget& opened_with() const { return setup_.budget; }
  /// True if the device steers by rules, and not by the multicast table. Valid from the step
  /// init_hca of the bring-up on.
  bool steers_by_rules() const {
    return setup_.steering != &multicast_table_steering &&
           capabilities_.raw.get<&layouts::query_dev_cap::dmfs>();
  }
  const freehca::capabilities& capabilities() const { return capabilities_; }
  /// The last attribute that an operation on a port refused with driver_error::bad_argument.
  const refused_attribute& refused() const { return refused_; }
  channel& commands() { return control_.commands; }
  context_tables& contexts() { return control_.contexts; }
  number_spaces& numbers() { return control_.numbers; }
  uar_pages& uars() { return control_.uars; }
  /// Rings and buffers, unit 4096. Valid from open() on.
  dma_arena& arena() { return control_.arena; }
  /// Doorbell records, unit 64. Valid from open() on.
  dma_arena& doorbells() { return control_.doorbells; }
  /// The UAR page of the driver. All users without a UAR page of their own share it.
  const uar_page& uar() const { return control_.uar; }
  /// The number of completion contexts. A completion queue is bound to one of the contexts 0 to
  /// completion_contexts() - 1.
  unsigned completion_contexts() const { return completion_contexts_; }
  event_context& completion_context(unsigned i) { return events_[i + 1]; }
  event_context& asynchronous_context() { return events_[0]; }
  /// True if an event owner polls completion context `i`, false if the control owner does.
  bool has_owner(unsigned i) const { return owners_.at(i) != nullptr; }
  /// The name of the event owner that a sequence waits for, or null. The sequence continues when
  /// this owner has polled and has stopped using the device that was reset.
  const char* awaited_owner() const { return owners_.awaited(); }
  /// The time at which event queues must be polled although no interrupt came. clock::never if
  /// interrupts work.
  std::uint64_t next_look_at_events() const;
  /// The same for the queue of an event owner. If `of` shares its vector, the queue must be polled
  /// even if interrupts work.
  std::uint64_t next_look_at_events(const event_context& of) const;

  /// Sets the sinks of all events, except the events of a completion context with an event owner
  /// and of the objects of this owner. Must be called before the first event can come.
  void set_sinks(const event_sinks& to);
  bool has_sinks() const { return sinks_.context != nullptr; }
  /// Returns the generation of the first handles of one more verbs object. All devices of a program
  /// draw from one sequence. Its values are far apart, so that each verbs object treats a handle of
  /// another one as stale. Never 0 in the first 2^31 calls. Called by any thread.
  static std::uint32_t next_generation();
  /// The attributes of port 1 or 2 as last read. The driver reads them again when the device
  /// reports a change.
  const port_attributes& port(unsigned number) const { return ports_.attributes(number); }

  /// True if INIT_PORT was answered with ok or is in flight, and CLOSE_PORT was not answered with
  /// ok. See port_operation.
  bool port_open(unsigned number) const { return ports_.control(number).open; }

  /// The entries of the tables of Ethernet port 1 or 2, as far as the driver has written them.
  const port_address_tables& addresses(unsigned number) const {
    return ports_.control(number).addresses;
  }

  device_info info() const;
  device_holdings holdings() const;

 private:
  struct steps;  // the functions of the bring-up table: src/steps.hpp
  friend struct steps;
  friend class port_operation;
  friend class port_modification;
  friend class set_port_addresses;
  friend class set_ethernet_port;
  friend class set_promiscuous_mode;
  friend class port_statistics_query;
  friend class module_query;
  friend class port_type_query;
  friend class device_clock;
  friend class set_port_type;
  friend class verbs;
  friend class adapter_monitor;

  /// An area of memory that is lent to the firmware as a whole: its own area, or the auxiliary
  /// area.
  struct lent_area {
    [[gnu::noinline]] lent_area() {}
    dma_region memory;
    std::size_t named = 0;     // bytes that commands have named
    bool lent = false;         // the firmware has, or may have, a part of the area
    bool lent_before = false;  // the value of `lent` before the command under way
    lease at_risk{lease_kind::page, 0, &lent_area::settled, this};
    static void settled(lease& which, const settlement& end, void* of) noexcept;
  };

  // sequence.cpp, sequence_reset.cpp
  void take_back(operation& done, bool up_again);
  void run_sequence();
  void next_step();
  void step_failed(status why);
  void undo_failed(status why);
  void begin_reset();
  void keep_from_memory();
  void reset_done(status outcome);
  bool owners_have_stopped();
  bool owners_have_released();
  /// Makes a sequence that waits for event owners check them again.
  void go_on();
  void forget_everything();
  void wait_for_late_answers();
  static void on_cancel(operation& op, void* self) noexcept;

  // ethernet/port_modification.cpp
  /// Checks that the device is up and has the port.
  status check_port(unsigned port);
  /// The same, and that it is an Ethernet port.
  status check_ethernet(unsigned port);

  // device.cpp
  void fail(status why);
  bool watches_health() const {
    return up() ||
           (sequence_.device_has(bring_up_step::init_hca) &&
            sequence_.way() != device_sequence::course::reset && control_.commands.failure().ok());
  }
  void check_health(std::uint64_t now);
  bool take_event(const layouts::image<layouts::eqe>& event);
  void refresh_ports(std::uint64_t now);
  void connect_events(event_context& e);
  /// Returns the interrupt vector of an event queue. Queue 0 is the asynchronous one.
  unsigned vector_of(unsigned queue) const;
  /// Returns the difference of the numbers of two neighbouring event queues with the vector.
  unsigned queue_step(unsigned vector) const;
  bool is_shared(unsigned vector) const;
  static void on_notify(void* self, unsigned vector) noexcept;
  /// The same for the line interrupt. Takes the level away first.
  static void on_line_notify(void* self, unsigned vector) noexcept;

  // The members that the steps access most often come first, at small offsets. `sequence_` only
  // keeps a reference to `control_`, which is constructed after it.
  // A member with `{}` is cleared as a whole, which is less code than one store for each of its
  // members.
  device_sequence sequence_{control_.commands};
  device_setup setup_{};              // its table of operations is operations_
  platform_operations operations_{};  // the part of the platform's table that the driver knows
  pci_function function_;
  device_state state_ = device_state::closed;
  mmio_region bar0_{}, bar2_{};
  device_control control_;
  refused_attribute refused_;
  freehca::capabilities capabilities_{};
  device_info info_{};  // without the ports
  device_ports ports_;
  owner_registry owners_;
  event_context events_[1 + budget::most_completion_event_queues];
  event_sinks sinks_{};
  unsigned completion_contexts_ = 0;
  device_watch* watch_ = nullptr;

  context_request requests_[context_groups];
  guid_query guid_query_;
  subnet_query node_query_;

  // Memory that the firmware has, or may have.
  lent_area firmware_, auxiliary_;
  std::uint32_t firmware_pages_ = 0, auxiliary_pages_ = 0;
  // The number of interrupt vectors. Each caller of on_interrupt() reads it, also while interrupts
  // are armed again.
  std::atomic<unsigned> vectors_{1};
  // The clear-interrupt register, null if it is not inside a BAR, and inta_pin of QUERY_ADAPTER.
  // Read like `vectors_`.
  std::atomic<std::byte*> clear_interrupt_{nullptr};
  std::atomic<unsigned> interrupt_pin_{0};
  bool reserved_mapped_[context_groups] = {};
  std::uint64_t objects_of_its_own_ =
      0;  // objects that held context memory at the end of bring-up; further ones are of users
  bool event_queue_exists_[1 + budget::most_completion_event_queues] = {};
  /// The number and the ring of the event queue that the command under way creates or destroys.
  lease event_queue_at_risk_{lease_kind::number, 1, nullptr, nullptr};
  health health_;
};

}  // namespace freehca
