// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freehca/model/command_fault.hpp>
#include <freehca/model/environment.hpp>
#include <freehca/model/event_fault.hpp>
#include <freehca/model/link_faults.hpp>
#include <freehca/model/options.hpp>
#include <freehca/model/port_view.hpp>
#include <freehca/model/raised_event.hpp>
#include <freehca/model/reception.hpp>
#include <freehca/model/remark.hpp>
#include <freehca/model/request_fault.hpp>
#include <freehca/model/uar_page.hpp>

namespace freehca::model {

struct adapter;

/// One counter of the model, by name ("commands", "complaints", "port1_packets_sent",
/// "icm_pages_qpc" ...).
struct counter {
  const char* name;
  std::uint64_t value;
};

/// A modelled adapter: registers in, DMA and interrupts out. Not thread-safe: the caller
/// serialises. Deterministic: the same calls at the same times give the same answers.
class device {
 public:
  static constexpr std::uint64_t register_bar_bytes = 1u << 20;  ///< BAR0

  device(environment& surroundings, const options& how);
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// BAR0 and BAR2 accesses in device order turned to host order: a 4-byte read of a register whose
  /// first byte on the bus is 0x12 gives 0x12...... (the bus value is big-endian; the caller that
  /// has a little-endian bus swaps). Sizes 4 and 8; others are complained of and read as all ones.
  std::uint64_t read_registers(std::uint64_t offset, unsigned bytes);
  void write_registers(std::uint64_t offset, std::uint64_t value, unsigned bytes);
  std::uint64_t read_uar(std::uint64_t offset, unsigned bytes);
  void write_uar(std::uint64_t offset, std::uint64_t value, unsigned bytes);

  /// For a host that stores doorbells to memory of which the adapter is not told, and looks there
  /// now and then: two stores between two looks are one, so no more is known than the page in which
  /// somebody rang, with the doorbell of a send queue (or a copy to BlueFlame) or with that of a
  /// completion queue. What was rung for is looked for in the host's memory. Rules about single
  /// doorbells judge none of these.
  void look_at_uar(std::uint32_t page, bool sends, bool completions);
  /// Calls out(page, context) for the UAR pages that queues in hardware's hands ring in, event
  /// queues among them, in no order. They are others only when the number has risen.
  void uar_pages(void (*out)(const uar_page&, void* context), void* context) const;
  std::uint64_t uar_page_changes() const;

  /// The timer that the environment was asked for has expired.
  void on_timer();

  /// Function-level or conventional reset: firmware stops, everything lent is forgotten, no DMA
  /// follows.
  void reset();

  /// A catastrophic error: the event for it goes to the event queue that asked, the error buffer of
  /// BAR0 tells it, and from then on nothing is answered, moved or raised, until a reset.
  void fail();
  bool failed() const;

  /// Raises an event that an adapter in order does not raise, or not now: a warning, an error, a
  /// required operation, a change of a port. Any type, subtype and port are allowed. Nothing else
  /// changes: a port management change names the attributes as they are. Of the subtypes of tables
  /// it names the first entry, and of port_info that clients must register again. False: no event
  /// queue takes events of this type, or the adapter has failed.
  bool raise_event(const raised_event& event);

  /// Bytes have arrived at port `port` (1-based) by its cable, as environment::link_send gave them
  /// at the other end: a packet, a link packet, or on an Ethernet port a frame, which who brings it
  /// pads to 60 bytes where the other end does not. `from` is lent for the call. Any bytes are
  /// allowed: what is no packet, or no frame, is dropped and counted. Bytes for a port without
  /// options::cable are dropped.
  void link_receive(unsigned port, const std::byte* from, std::size_t bytes);
  /// Has the adapter room for more? What comes while it has none is taken all the same. Room comes
  /// with on_timer().
  bool link_may_receive() const;
  /// environment::link_send has room again for port `port`.
  void link_has_room(unsigned port);
  /// The cable of port `port` is plugged in (as at the start) or pulled out: the link goes down at
  /// once, and comes up again when it is back and, of an InfiniBand port, the other end trains too.
  /// The other end of that is told by a last link packet; that of an Ethernet port is not.
  void plug_cable(unsigned port, bool plugged);

  /// What Ethernet port `port` lets in now. False: nothing, as the port is closed or is InfiniBand;
  /// `what` is left as it is.
  bool receives(unsigned port, reception& what) const;

  /// How port `port` stands. False: there is no such port, or the adapter has failed.
  bool view(unsigned port, port_view& what) const;

  /// From now on the cable of port `port` is as bad as that. False: the port has no cable.
  bool set_link_faults(unsigned port, const link_faults& faults);

  /// Changes the faults that the adapter is asked for; holds for what it begins from then on.
  void set_faults(const fault_options& faults);
  const fault_options& faults() const;
  /// Does a software reset go on (fault_options::reset_latency_ns)? Registers know it; whoever
  /// answers for configuration space reads as all ones then, and takes no writes.
  bool in_reset() const;

  /// From now on `judge` decides what becomes of each command; an empty one lets all of them run.
  void judge_commands(command_judge judge);
  /// Runs and answers the commands that are held, in the order in which they came. A reset forgets
  /// them.
  void release_held_commands();
  std::size_t held_commands() const;
  /// The same for one of them, counted from 0 in that order, with a fate of its own (run or
  /// refuse); false: there are fewer.
  bool answer_held_command(std::size_t which, const command_verdict& how);
  /// From now on `judge` decides what becomes of each event; an empty one lets all of them through.
  void judge_events(event_judge judge);
  /// From now on `judge` decides about each work request; an empty one lets all of them be.
  void judge_requests(request_judge judge);

  /// Why the state can be neither saved nor loaded now: a recording, or a judge, whose own state is
  /// not the device's. Empty: it can.
  std::string obstacle_to_saving() const;
  /// The whole state, as a stream of bytes (docs/decisions/saved-state.md). Does no DMA. The device
  /// goes on as before. Precondition: obstacle_to_saving() is empty, and no call of this device is
  /// in progress.
  std::vector<std::byte> save();
  /// Takes the state of a stream that save() gave, in this build or an earlier one. The device has
  /// the options of the saved one, but for those that may change while it lives, which it gets from
  /// the stream. The stream is judged as a guest's contexts are. Returns false if the stream is
  /// refused or there is an obstacle; `why` then names the section, the member and the fault, and
  /// the device is as before. Does no DMA. The line interrupt gets the level that it had. After a
  /// load, call link_has_room() for each port with options::cable: the saved adapter may have found
  /// its cable full. No call of this device is in progress.
  bool load(std::span<const std::byte> from, std::string& why);
  /// A number over the state, the time on the adapter's clock included. What tells how the work was
  /// done, and not what it led to, is not counted: work units, turns, hits of caches. The same
  /// preconditions as of save(). Frees discarded memory.
  std::uint64_t state_digest();

  /// With options::record: writes the recording's last record, and records no more. The destructor
  /// does the same.
  void end_recording();

  /// Calls out(counter, context) for every counter.
  void counters(void (*out)(const counter&, void* context), void* context) const;
  /// The counter at `index`, from 0; false past the last. The name lives as long as the device,
  /// or until load().
  bool counter_at(std::size_t index, counter& out) const;
  std::uint64_t complaints() const;
  /// Calls out(remark, context) for the last remarks that explain something, oldest first.
  void remarks(void (*out)(const remark&, void* context), void* context) const;
  /// What the adapter's context memory has of one object, decoded: a line "field: value" for each
  /// field that is not zero. `which` is KIND:NUMBER, as in "qp:0x41"; the kinds are qp, cq, eq, srq
  /// and mpt. False: there is no such object, and `text` says why. Does DMA.
  bool dump(std::string_view which, std::string& text);
  /// Changes options::strict and options::rules_off; holds for what the adapter judges from then
  /// on.
  void set_strict(bool strict);
  void set_rules_off(const rule_set& rules);

  /// The options as they are now. Lent until the next call.
  const options& how() const;
  /// The adapter's parts, for tests that look at one alone. load() makes new ones.
  adapter& inside();
  /// Like inside(), for a caller that keeps no reference beyond the expression. Reloads go on.
  adapter& inside_now();

  /// For tests: at one of `calls` calls, as drawn by `seed`, each device puts new parts in the
  /// place of its own and hands them its state by a stream. `calls` 0 turns reloads off. Calls
  /// within a call are passed over, and so are devices with an obstacle_to_saving() and those whose
  /// inside() was called. A refused stream is printed on standard error, and the device keeps its
  /// parts. The plan is one for the process, and not thread-safe: all devices are used from one
  /// thread while it is on.
  static void reload_at_one_of(std::uint32_t calls, std::uint64_t seed);
  struct reload_counts {
    std::uint64_t done = 0, refused = 0;
  };
  static reload_counts reloads();

 private:
  struct parts;
  enum class entry : unsigned char { any, timer };
  /// The parts, for a call that begins now. `timer`: the call answers arm_timer(), so a timer that
  /// a load arms is disarmed.
  parts& entered(entry by = entry::any);
  std::unique_ptr<parts> parts_;
};

}  // namespace freehca::model
