// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <freehca/hal/clock.hpp>
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

/// Of device_setup. No source: chosen (docs/decisions/bring-up.md).
inline constexpr std::uint64_t default_port_wait = clock::seconds(10);
inline constexpr std::uint64_t default_link_wait = clock::seconds(2);

/// What a device object is made of. Platform and storage outlive it.
struct device_setup {
  freehca::platform platform;
  freehca::budget budget;
  std::byte* storage = nullptr;  ///< device::storage_bytes(budget), aligned to 16
  std::size_t storage_bytes = 0;
  bool use_interrupts = true;  ///< false: event queues are polled
  /// How often poll() looks for an internal error of the device, in nanoseconds, from INIT_HCA
  /// until teardown: a port that polls by next_deadline() learns of one at most this much later.
  /// More than 0; clock::never: not at all. Linux looks every 5 s (6.1 catas.c); one read of a
  /// register is cheap, so oftener. No source: chosen.
  std::uint64_t health_interval = clock::milliseconds(100);
  /// How long bring-up waits for its InfiniBand ports to become active, in nanoseconds; 0: not at
  /// all. A deadline of the bring-up ends the wait earlier. A port that is not active by then is no
  /// failure of the bring-up: event_sinks::port tells when it becomes active.
  std::uint64_t port_wait = default_port_wait;
  /// How much of that a port gets to hear something at the other end of its cable. One that does
  /// not has no cable, as far as anybody can tell; should its link come up later, event_sinks::port
  /// says so.
  std::uint64_t link_wait = default_link_wait;
  /// Takes a device whose semaphores are held, after an owner that died without giving them back:
  /// that of ownership at once, that of the flash after the time that a tool may hold it. Whoever
  /// says this answers for nobody else being at the device.
  bool take_over = false;
  /// Called from the thread of another owner when the control owner sleeps (prepare_to_sleep) and
  /// is asked for something. Null: it does not sleep, or wakes up by itself.
  inbox::waker wake = nullptr;
  void* wake_context = nullptr;
};

enum class device_state : std::uint8_t {
  closed,
  down,  ///< nothing is lent, the device belongs to nobody
  bringing_up,
  up,
  tearing_down,
  /// Bring-up ended, but a command of it was not answered: what it put at risk is still held.
  in_doubt,
  failed,  ///< the device is gone or in error: tear_down() resets it
};

/// The control owner of one adapter. Everything runs from poll() on one thread; no call waits.
class device {
 public:
  /// Bytes of `device_setup::storage` for a budget.
  static constexpr std::size_t storage_bytes(const budget& b) {
    return device_plan(b).storage_bytes;
  }
  /// Bytes of DMA memory that open() asks the platform for, in one block.
  static constexpr std::size_t dma_bytes(const budget& b) { return device_plan(b).dma_bytes; }

  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() { close(); }

  /// Maps the BARs and gets the DMA memory; sends nothing to the device. driver_error::bad_argument
  /// (`where`, if not 0: the budget::item that is too large for another one), ::no_memory (`where`:
  /// budget::item), or what the platform said.
  status open(const device_setup& setup);
  /// Gives back what open() got. The device should be down; else it is made to leave memory alone
  /// first, by the platform's reset or by switching bus mastering off (docs/decisions/closing.md).
  /// It waits for nothing.
  void close();

  /// Reset, firmware, context memory, event queues, ports. The device must be down. The outcome's
  /// `where` is the bring_up_step; failure() has the cause. Refused by the firmware: everything is
  /// undone before the operation completes. Not answered: the operation completes at once, the
  /// device is in_doubt, and undoes the rest by itself from poll() when the answer comes late;
  /// tear_down() ends the wait by a reset. driver_error::busy at take_ownership: somebody else owns
  /// the device. A cancelled one is undone first; a reset that has begun is finished before that.
  /// One past its deadline ends in the same way, with transport_error::timeout; the wait for the
  /// ports, which is its last step, ends ahead of the deadline, and the bring-up succeeds.
  void bring_up(operation& done);

  /// Takes everything back, in the opposite order. From any state; a device that cannot be talked
  /// to, or whose users still hold something, perhaps in doubt, is reset, or at least kept from
  /// memory, and their objects are gone. Ends in device_state::down. Past its deadline it asks the
  /// device no further, but resets it; the outcome says transport_error::timeout. With other owners
  /// the device is reset, and each of them has to let go of it, by its poll(): one that never polls
  /// is waited for without end (awaited_owner() names it), or until ten seconds after the reset
  /// where the operation was cancelled or is past its deadline; the device is then failed.
  void tear_down(operation& done);

  /// From any state to up, by one operation: resets the device, takes everything back, and brings
  /// it up again. Objects are gone and commands end as by a tear_down() that resets. A device that
  /// is down is brought up. Cancelled or past its deadline it ends when a reset that has begun is
  /// over; the device is then down, or as a bring_up() that was broken off leaves it. Outcomes as
  /// bring_up().
  void recover(operation& done);

  /// Looks at commands, the asynchronous event queue, sequences, and now and then at the device's
  /// health. Completion contexts are polled by their owners. Returns the number of operations and
  /// events handled.
  unsigned poll();
  /// When poll() is due at the latest if no interrupt comes, on the platform's clock; 0: at once.
  std::uint64_t next_deadline() const;
  /// Before the control owner's thread sleeps, when poll() has found nothing: false means that
  /// another owner has asked for something since. True: device_setup::wake is called when one does.
  bool prepare_to_sleep() { return control_.reactor.mail.prepare_to_sleep(); }

  /// From interrupt context or any thread, one at a time for each vector: vector `vector` fired.
  /// Already wired when the platform arms.
  void on_interrupt(unsigned vector) noexcept;
  /// The platform knows that the device is lost (hot removal): everything ends with
  /// transport_error::gone. On the control owner's thread; verbs_events::device_failed is called
  /// from inside it.
  void lost();

  device_state state() const { return state_; }
  bool up() const { return state_ == device_state::up; }
  /// Where the last sequence stopped; ok when it did not.
  const sequence_failure& failure() const { return sequence_.failure; }
  static const char* step_name(bring_up_step step);
  /// The step that a sequence is in, for progress.
  bring_up_step step() const { return sequence_.step(); }

  // What verbs objects stand on; valid while the device is up.
  const freehca::platform& platform() const { return setup_.platform; }
  const freehca::budget& opened_with() const { return setup_.budget; }
  const freehca::capabilities& capabilities() const { return capabilities_; }
  channel& commands() { return control_.commands; }
  context_tables& contexts() { return control_.contexts; }
  number_spaces& numbers() { return control_.numbers; }
  uar_pages& uars() { return control_.uars; }
  /// Rings and buffers, unit 4096. Valid from open() on.
  dma_arena& arena() { return control_.arena; }
  /// Doorbell records, unit 64. Valid from open() on.
  dma_arena& doorbells() { return control_.doorbells; }
  /// A UAR page for the driver's own use, shared by all who do not want one of their own.
  const uar_page& uar() const { return control_.uar; }
  /// Completion queues are bound to contexts 0 to completion_contexts() - 1.
  unsigned completion_contexts() const { return completion_contexts_; }
  event_context& completion_context(unsigned i) { return events_[i + 1]; }
  event_context& asynchronous_context() { return events_[0]; }
  /// Completion context `i` is polled by an owner of its own (event_verbs).
  bool has_owner(unsigned i) const { return owners_.at(i) != nullptr; }
  /// A sequence waits for this owner to let go of a device that was reset, and goes on when it is
  /// polled; null: for none.
  const char* awaited_owner() const { return owners_.awaited(); }
  /// When event queues have to be looked at although no interrupt tells of anything; clock::never:
  /// interrupts work.
  std::uint64_t next_look_at_events() const;
  /// The same for the queue of another owner: also when interrupts work but `of` shares its vector.
  std::uint64_t next_look_at_events(const event_context& of) const;

  /// Events of all kinds go here, but for those of completion contexts that have an owner of their
  /// own, and of its objects; set before they can come.
  void set_sinks(const event_sinks& to);
  bool has_sinks() const { return sinks_.context != nullptr; }
  /// The generation that the handles of one more verbs begin with. All devices of a program draw
  /// from one sequence, whose values are far apart, so that each verbs takes a handle of any other
  /// for a stale one. Never 0 in the first 2^31 calls. Any thread.
  static std::uint32_t next_generation();
  /// Port 1 or 2 as last read; read anew when the device reports a change.
  const port_attributes& port(unsigned number) const { return ports_.attributes(number); }

  /// INIT_PORT was answered with ok, or is on its way, and CLOSE_PORT was not: port_operation.
  bool port_open(unsigned number) const { return ports_.control(number).open; }

  device_info info() const;
  device_holdings holdings() const;

 private:
  struct steps;  // what the table of bring-up is made of: src/steps.hpp
  friend struct steps;
  friend class port_operation;
  friend class event_verbs;

  /// What is lent to the firmware as a whole: its own area, the auxiliary area.
  struct lent_area {
    lent_pages pages;
    std::uint32_t cursor = page_run::none;  // the run that the next command lends first
    bool lent = false;                      // the firmware has, or may have, some of it
    bool lent_before = false;               // ... before the command under way
    lease pages_at_risk{lease_kind::page, 0, &lent_area::settled, this};
    static void settled(lease& which, const settlement& end, void* of) noexcept;
  };
  struct event_queue_parts {
    dma_region ring;
    std::uint32_t eqn = 0, first_mtt = 0, mtts = 0;
    bool numbered = false, translated = false, mapped = false, created = false;
  };

  // sequence.cpp, sequence_reset.cpp
  void take_back(operation& done, device_sequence::goal towards);
  void run_sequence();
  void next_step();
  void step_failed(status why);
  void undo_failed(status why);
  void begin_reset();
  void keep_from_memory();
  void reset_done(status outcome);
  bool owners_have_stopped();
  bool owners_have_let_go();
  /// A sequence that waits for owners looks again.
  void go_on();
  void forget_everything();
  void wait_for_late_answers();
  static void on_cancel(operation& op, void* self) noexcept;

  // device.cpp
  void fail(status why);
  bool watches_health() const {
    return up() ||
           (sequence_.device_has(bring_up_step::init_hca) &&
            sequence_.way() != device_sequence::course::reset && control_.commands.failure().ok());
  }
  void check_health(std::uint64_t now);
  void take_condition(layouts::event_type what);
  void refresh_ports(std::uint64_t now);
  void connect_events(event_context& e);
  /// The interrupt vector of an event queue; 0 is the asynchronous one.
  unsigned vector_of(unsigned queue) const;
  bool is_shared(unsigned vector) const;
  static void on_notify(void* self, unsigned vector) noexcept;

  // Ahead of all else: what the steps reach most often is near the beginning. What they ask is
  // below.
  device_sequence sequence_{control_.reactor};
  device_setup setup_;              // with the table below
  platform_operations operations_;  // what the driver knows of the port's
  pci_function function_;
  device_state state_ = device_state::closed;
  mmio_region bar0_, bar2_;
  device_control control_;
  freehca::capabilities capabilities_;
  device_info info_;  // without its ports
  device_ports ports_;
  owner_registry owners_;
  event_context events_[1 + budget::most_completion_event_queues];
  event_sinks sinks_;
  unsigned completion_contexts_ = 0;

  context_request requests_[context_groups];
  guid_query guid_query_;
  subnet_query node_query_;

  // What the firmware has, or may have.
  lent_area firmware_, auxiliary_;
  std::uint32_t firmware_pages_ = 0, auxiliary_pages_ = 0;
  bool interrupts_armed_ = false;
  // How many vectors there are. Read by whoever calls on_interrupt(), also while they are armed
  // again.
  std::atomic<unsigned> vectors_{1};
  bool reserved_mapped_[context_groups] = {};
  std::uint64_t objects_of_its_own_ =
      0;  // with context memory when it came up: the rest is its users'
  event_queue_parts queue_parts_[1 + budget::most_completion_event_queues];
  /// The number and the ring of the event queue that the command under way creates or destroys.
  lease eq_number_at_risk_{lease_kind::number, 1, nullptr, nullptr};
  lease eq_ring_at_risk_{lease_kind::buffer, 0, nullptr, nullptr};
  health health_;
};

}  // namespace freehca
