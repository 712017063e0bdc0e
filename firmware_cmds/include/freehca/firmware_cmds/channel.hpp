// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/command_client.hpp>
#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/firmware_cmds/mailbox.hpp>
#include <freehca/firmware_cmds/slot.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/platform.hpp>
#include <freehca/hal/reactor.hpp>

namespace freehca {

/// The resources of a channel. All of them outlive the channel.
struct channel_resources {
  mmio_region hcr;  ///< the seven words of the command register, part of BAR 0
  /// channel::mailbox_bytes_for(slots) bytes, aligned to 4096 for the device
  dma_region mailboxes;
  /// channel::storage_bytes_for(slots) bytes, aligned to alignof(std::max_align_t)
  std::byte* storage = nullptr;
  std::size_t storage_bytes = 0;
  unsigned slots = 0;  ///< 1 to channel::most_slots
  freehca::platform platform;
};

/// Counters since open(). They never decrease.
struct channel_statistics {
  std::uint64_t submitted = 0, posted = 0;
  std::uint64_t answered_ok = 0, answered_with_error = 0;
  std::uint64_t timed_out = 0, cancelled = 0, detached = 0;
  std::uint64_t refused = 0;    ///< ended without being posted, and not cancelled
  std::uint64_t late = 0;       ///< answers that settled a command in doubt
  std::uint64_t stale = 0;      ///< completions of an earlier use of the slot
  std::uint64_t duplicate = 0;  ///< completions of a command that was answered already
  /// Completions whose token names no slot, a slot that was never used, or the slot of a polled
  /// command.
  std::uint64_t foreign = 0;
  std::uint32_t most_in_flight = 0;
};

/// The asynchronous command channel. It runs commands through the host command register. In polling
/// mode one command is in flight at a time. In event mode as many commands are in flight as the
/// firmware allows, and completion events report the answers.
///
/// One owner thread calls all functions. No call waits. Commands complete and leases settle only
/// inside poll() of the channel's owner and inside device_was_reset(). A callback may therefore
/// submit, cancel and restart commands, but it may not call poll(). Deadlines and ended commands
/// are in the owner's reactor. poll() therefore also expires and completes the owner's other
/// operations there.
class channel {
 public:
  static constexpr unsigned most_slots = 256;
  static constexpr std::size_t storage_bytes_for(unsigned slots) {
    return slots * sizeof(command_slot);
  }
  static constexpr std::size_t mailbox_bytes_for(unsigned slots) {
    return slots * 2 * mailbox::bytes;
  }

  /// The reactor outlives the channel.
  explicit channel(freehca::reactor& owner) : reactor_(owner) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  /// No command may be queued, in flight or in doubt: see device_was_reset().
  ~channel() { close(); }

  /// Takes over the resources and starts in polling mode. The command register must be in the state
  /// after a reset. Errors: driver_error::bad_argument (a resource is too small or misaligned),
  /// ::bad_state (the channel is open already).
  status open(const channel_resources& resources);
  bool is_open() const { return slots_ != nullptr; }
  void close();
  /// The reactor of the channel's owner.
  freehca::reactor& reactor() { return reactor_; }

  /// Queues a command of the channel's owner. Other senders use a command_client. submit() never
  /// completes the command. If there is an error, a later poll() completes the command with it.
  void submit(command& c) { submit(own_, c); }
  /// Enables or disables client commands (enabled initially). Disabling fails all queued client
  /// commands with driver_error::bad_state. Commands in flight continue.
  void admit_clients(bool yes);

  /// Reads the command register, expires deadlines, completes commands that have ended, settles
  /// commands that were answered late, and posts queued commands. The caller must drain the
  /// asynchronous event queue first. Otherwise a command whose completion is already in the event
  /// queue may time out. Returns the number of operations completed. A doubt that ends counts as
  /// one.
  unsigned poll() { return poll(is_open() ? platform_.now() : 0); }
  /// The same for a caller that has read the clock, before it drained the asynchronous event queue.
  unsigned poll(std::uint64_t now);

  /// use_events() switches to event mode. At most `limit` commands (1 << log_max_outstanding_cmd of
  /// QUERY_FW) are then in flight or in doubt, and at most as many as there are slots.
  /// use_polling() switches back to polling mode. The switch takes effect when no command is in
  /// flight. Queued commands wait for the switch.
  void use_events(unsigned limit);
  void use_polling();
  bool uses_events() const { return events_; }

  /// Reports a completion from the asynchronous event queue. The arguments are the fields of the
  /// EQE. The caller orders the read of the EQE before this call by
  /// barrier::dma_load_to_dma_load().
  void on_completion(std::uint16_t token, std::uint8_t raw_status, std::uint64_t output_immediate);

  /// Reports that the device is lost (catastrophic error, surprise removal). All commands end with
  /// `why` at the next poll(). Commands that are submitted later end with `why` too, until
  /// device_was_reset(). The resources of commands in flight are in doubt.
  void fail_all(status why);

  /// Reports that the function was reset, or that it can no longer access memory for another
  /// reason. No lent memory is in doubt any more. Commands in flight or queued end with
  /// transport_error::reset. device_was_reset() completes these commands and settles their leases
  /// before it returns, also inside a callback. If a settler calls it, the leases of that settler's
  /// command settle after it returns. The channel is in polling mode afterwards.
  void device_was_reset();

  /// Sets the limit in nanoseconds for a class of commands, counted from the posting.
  /// operation::set_deadline() replaces the limit for one command.
  void set_limit(patience p, std::uint64_t nanoseconds) {
    limits_[static_cast<unsigned>(p)] = nanoseconds;
  }
  std::uint64_t limit(patience p) const { return limits_[static_cast<unsigned>(p)]; }

  /// The latest time of the next poll(), on the platform's clock. 0 means at once: a command can be
  /// posted or completed, or only polling shows progress. operation::no_deadline means that nothing
  /// is in progress. While a command is in doubt, the result is at most doubt_interval after the
  /// current time.
  std::uint64_t next_deadline() const;

  /// True if no command is under way and no operation of the owner waits for its completion.
  bool idle() const { return queued_ == 0 && in_flight_ == 0 && !reactor_.has_ended(); }
  unsigned queued() const { return queued_; }
  unsigned in_flight() const { return in_flight_; }
  /// The number of units of `kind` that are in doubt.
  std::uint64_t in_doubt(lease_kind kind) const { return in_doubt_[static_cast<unsigned>(kind)]; }
  /// The number of slots that are in flight or in doubt. It is zero if no slot is leaked.
  unsigned slots_in_use() const {
    return in_flight_ + static_cast<unsigned>(in_doubt(lease_kind::slot));
  }
  /// Ok, or the status with which every command ends until the device is reset.
  status failure() const { return failure_; }
  const channel_statistics& statistics() const { return statistics_; }

 private:
  friend class command_client;
  using lane_queue = command_client::lane_queue;
  static constexpr unsigned line_lists = 512;

  // channel_queue.cpp: queues, choice and posting
  void submit(command_client& client, command& c);
  void cancel_all(command_client& of);
  static void on_cancel(operation& op, void* self) noexcept;
  static lane_queue& queue_of(const command& c) {
    return c.client_->lane_[static_cast<unsigned>(c.request.lane)];
  }
  list<key_line>& lines_like(const object_key& key);
  void move_line(key_line& from, key_line& to);
  void pass_on(key_line& line);
  void make_ready(command& c);
  void take_out(command& c);
  void end_queued(command& c, status outcome);
  void end_queued_of(const command_client* client, bool others, status outcome);
  void end_all_queued(status outcome) { end_queued_of(nullptr, true, outcome); }
  void end_behind_doubt(std::uint64_t now);
  void post_queued(std::uint64_t now);
  bool may_post(std::uint64_t now);
  bool answer_may_come(std::uint64_t now) const;
  bool register_allows(std::uint64_t now);
  command* next_postable();
  command_slot* find_free_slot();
  void post(command& c, command_slot& s, std::uint64_t now);
  void fill_mailboxes(const command_request& r, const command_slot& s);

  // channel.cpp: the register, answers and ends
  bool look_at_register();
  void answer(command_slot& s, std::uint8_t raw_status, std::uint64_t output_immediate);
  void end(command& c, status outcome);
  void end_in_doubt(command& c, status outcome);
  void free_slot(command_slot& s);
  bool traces() const {
    return platform_.operations != nullptr && platform_.operations->trace != nullptr;
  }
  static void settle(operation& slot, void* self) noexcept;

  dma_region input_mailbox(const command_slot& s) const {
    return mailboxes_.part(static_cast<std::size_t>(&s - slots_) * 2 * mailbox::bytes,
                           mailbox::bytes);
  }
  dma_region output_mailbox(const command_slot& s) const {
    return mailboxes_.part((static_cast<std::size_t>(&s - slots_) * 2 + 1) * mailbox::bytes,
                           mailbox::bytes);
  }

  freehca::reactor& reactor_;
  mmio_region hcr_{};
  dma_region mailboxes_{};
  freehca::platform platform_{};
  command_slot* slots_ = nullptr;
  unsigned slot_count_ = 0;
  unsigned index_bits_ = 0;  // of a token

  list<command, channel> queue_;        // all queued commands, in the order of submission
  list<lane_queue> turns_[lanes];       // of clients with commands that may be posted
  list<key_line> lines_[line_lists];    // in use; lines_like() chooses the list
  command* waiting_barrier_ = nullptr;  // no other command is posted before this one
  command_slot* barrier_ = nullptr;     // of the barrier that is in flight or in doubt
  command_slot* register_ = nullptr;    // of the polled command in the register, also in doubt
  std::uint64_t order_ = 0;
  unsigned queued_ = 0;
  unsigned in_flight_ = 0;
  unsigned event_limit_ = 1;  // most commands in flight and in doubt together, in event mode

  bool events_ = false;  // commands are posted in event mode now
  bool want_events_ = false;
  bool toggle_ = true;    // T bit of the next command
  bool polling_ = false;  // inside poll() or device_was_reset()
  bool admits_clients_ = true;
  std::uint64_t register_taken_since_ = operation::no_deadline;
  std::uint64_t in_doubt_[lease_kinds] = {};
  status failure_;
  channel_statistics statistics_{};

  static constexpr std::uint64_t second = 1'000'000'000;
  // Linux 6.1 waits 60 s for any command (cmd.h MLX4_CMD_TIME_CLASS_*) and 10 s for the register
  // (cmd.c GO_BIT_TIMEOUT_MSECS). A card under load, or a card that clears memory in INIT_HCA,
  // needs a long time. The limit of the probe is chosen; it has no source. NOP does nothing. If its
  // answer takes longer than this limit, an interrupt was lost.
  std::uint64_t limits_[patience_classes] = {2 * second, 60 * second, 60 * second};
  /// The longest time that the command register may stay taken if no polled command is in it. After
  /// that, queued commands end with transport_error::timeout.
  static constexpr std::uint64_t go_limit = 10 * second;
  // The longest time between the arrival of a late answer and the poll() that finds it. Chosen; it
  // has no source. Only resources in doubt wait for a late answer.
  static constexpr std::uint64_t doubt_interval = second / 10;

  command_client own_{*this};
};

}  // namespace freehca
