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

/// What a channel stands on. All of it outlives the channel.
struct channel_resources {
  mmio_region hcr;       ///< the seven words of the command register, part of BAR 0
  dma_region mailboxes;  ///< channel::mailbox_bytes_for(slots), aligned to 4096 for the device
  /// channel::storage_bytes_for(slots), aligned to alignof(std::max_align_t)
  std::byte* storage = nullptr;
  std::size_t storage_bytes = 0;
  unsigned slots = 0;  ///< 1 to channel::most_slots
  freehca::platform platform;
};

/// Everything that was ever counted since open(); never goes back.
struct channel_statistics {
  std::uint64_t submitted = 0, posted = 0;
  std::uint64_t answered_ok = 0, answered_with_error = 0;
  std::uint64_t timed_out = 0, cancelled = 0, detached = 0;
  std::uint64_t refused = 0;    ///< ended without being posted, other than by cancel()
  std::uint64_t late = 0;       ///< answers that settled a command in doubt
  std::uint64_t stale = 0;      ///< completions of an earlier use of the slot
  std::uint64_t duplicate = 0;  ///< completions of a command that was answered already
  std::uint64_t foreign = 0;    ///< completions whose token names no slot
  std::uint32_t most_in_flight = 0;
};

/// The asynchronous command channel: runs commands through the host command register, one at a time
/// while polled, and by completion events as many as the firmware allows.
///
/// One owner thread calls everything here. No call waits. Commands complete, and leases settle,
/// from poll() and device_was_reset() only, so that a callback may submit, cancel and restart
/// freely; it may not call poll(). Deadlines and ended commands are in the owner's reactor: poll()
/// also expires and completes what others have there.
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
  /// Nothing may be queued, in flight or in doubt: see device_was_reset().
  ~channel() { close(); }

  /// Takes the resources and starts out polled. The command register must be as a reset leaves it.
  /// driver_error::bad_argument (resource too small or misaligned), ::bad_state (open already).
  status open(const channel_resources& resources);
  bool is_open() const { return slots_ != nullptr; }
  void close();
  /// Its owner's.
  freehca::reactor& reactor() { return reactor_; }

  /// Queues it, as a command of the channel's owner; those of others go through a command_client.
  /// Never completes it from inside: whatever is wrong with it, poll() tells.
  void submit(command& c) { submit(own_, c); }
  /// Whether commands of clients are taken, as they are at first. When no longer: what they have
  /// queued ends with driver_error::bad_state, what is in flight goes on.
  void admit_clients(bool yes);

  /// Looks at the command register, expires deadlines, completes what ended, settles what was
  /// answered late, and posts what may be posted. Drain the asynchronous event queue first: a
  /// completion that is there already must not be called a timeout. Returns the number of
  /// operations completed.
  unsigned poll();

  /// Completion events from now on, `limit` commands at once at most (QUERY_FW's 1 << log_max_cmd),
  /// no more than there are slots; or polling again. Takes effect as soon as nothing is in flight;
  /// what is queued waits for that.
  void use_events(unsigned limit);
  void use_polling();
  bool uses_events() const { return events_; }

  /// A completion that was found in the asynchronous event queue, its fields as the EQE gave them.
  /// The read of the EQE must be ordered ahead of this call by barrier::dma_load_to_dma_load().
  void on_completion(std::uint16_t token, std::uint8_t raw_status, std::uint64_t output_immediate);

  /// The device is lost (catastrophic error, surprise removal): all commands end with `why` at the
  /// next poll(), later ones as well, until device_was_reset(). What was in flight is in doubt.
  void fail_all(status why);

  /// The function was reset, or can no longer reach memory for another reason: nothing that was
  /// lent is in doubt any more. Commands in flight or queued end with transport_error::reset.
  /// Delivers and settles before it returns; called from a callback, the poll() around it or the
  /// next one does. Polled afterwards.
  void device_was_reset();

  /// The limit in nanoseconds for a class of commands, counted from the posting.
  /// operation::set_deadline() replaces it for one command.
  void set_limit(patience p, std::uint64_t nanoseconds) {
    limits_[static_cast<unsigned>(p)] = nanoseconds;
  }
  std::uint64_t limit(patience p) const { return limits_[static_cast<unsigned>(p)]; }

  /// When poll() is due at the latest, on the platform's clock: 0 for at once (something can be
  /// posted or delivered, or only polling shows progress), operation::no_deadline when nothing is
  /// going on. While a command is in doubt and could still be answered there is always one.
  std::uint64_t next_deadline() const;

  /// No command is under way, and no operation of the owner waits for its completion.
  bool idle() const { return queued_ == 0 && in_flight_ == 0 && !reactor_.has_ended(); }
  unsigned queued() const { return queued_; }
  unsigned in_flight() const { return in_flight_; }
  /// Units of `kind` that wait for a late answer or a reset.
  std::uint64_t in_doubt(lease_kind kind) const { return in_doubt_[static_cast<unsigned>(kind)]; }
  /// Slots that are not free: in flight or in doubt. Zero when nothing is leaked.
  unsigned slots_in_use() const { return in_flight_ + doubtful_; }
  /// Ok, or why every command fails until the device is reset.
  status failure() const { return failure_; }
  const channel_statistics& statistics() const { return statistics_; }

 private:
  enum class register_state : std::uint8_t { free, taken, gone };

  friend class command_client;
  using lane_queue = command_client::lane_queue;

  // channel_queue.cpp: who waits, and where
  void submit(command_client& client, command& c);
  void cancel_all(command_client& of);
  static void on_cancel(operation& op, void* self) noexcept;
  void make_ready(command& c, bool released);
  void take_out(command& c);
  void unqueue(command& c);
  void pass_on(key_line& line);
  void end_queued(status outcome) { end_those(nullptr, true, outcome); }
  void end_those(const command_client* client, bool others, status outcome);
  void refuse_behind_doubt(std::uint64_t now);

  // channel.cpp: ending
  void end(command& c, status outcome);
  void into_doubt(command_slot& s);
  void free_slot(command_slot& s);
  unsigned deliver_and_settle();
  void settle();
  void trace(const command& c, status outcome) const;

  // channel_post.cpp: choosing and posting
  void post_what_may(std::uint64_t now);
  bool may_post(std::uint64_t now);
  bool answer_may_come(std::uint64_t now) const;
  bool register_allows(std::uint64_t now);
  command* next_postable();
  command_slot* find_free_slot();
  void post(command& c, command_slot& s, std::uint64_t now);
  void fill_mailboxes(command& c, const command_slot& s);

  // channel_answer.cpp: the register, answers, deadlines
  register_state look(std::uint8_t* raw_status);
  void look_for_polled_answer();
  void take_polled_answer(std::uint8_t raw_status);
  void answer(command_slot& s, std::uint8_t raw_status, std::uint64_t output_immediate);
  void answer_late(command_slot& s, const settlement& end);
  bool look_once_more(const command& c);

  unsigned index_of(const command_slot& s) const { return static_cast<unsigned>(&s - slots_); }
  dma_region input_mailbox(const command_slot& s) const {
    return mailboxes_.part(index_of(s) * 2 * mailbox::bytes, mailbox::bytes);
  }
  dma_region output_mailbox(const command_slot& s) const {
    return mailboxes_.part((index_of(s) * 2 + 1) * mailbox::bytes, mailbox::bytes);
  }

  freehca::reactor& reactor_;
  mmio_region hcr_;
  dma_region mailboxes_;
  freehca::platform platform_;
  command_slot* slots_ = nullptr;
  unsigned slot_count_ = 0;
  unsigned index_bits_ = 0;  // of a token

  list<lane_queue> turns_[lanes];  // of clients with something that may be posted
  key_lines lines_;
  command* waiting_barrier_ = nullptr;  // holds all others back until it is posted
  std::uint64_t order_ = 0;
  unsigned queued_ = 0;
  unsigned in_flight_ = 0;
  unsigned doubtful_ = 0;  // slots, until they are settled
  unsigned barriers_in_flight_ = 0;
  unsigned barriers_in_doubt_ = 0;
  unsigned event_limit_ = 1;  // in flight and in doubt together, by events

  bool events_ = false;  // how commands are posted now
  bool want_events_ = false;
  bool toggle_ = true;    // of the next command
  bool polling_ = false;  // inside poll() or device_was_reset()
  bool admits_clients_ = true;
  bool settlements_due_ = false;
  // The slot of the polled command in the register, also when it is in doubt.
  std::uint16_t register_owner_ = command::no_slot;
  std::uint64_t register_taken_since_ = operation::no_deadline;
  std::uint64_t in_doubt_[lease_kinds] = {};
  status failure_;
  channel_statistics statistics_;

  static constexpr std::uint64_t second = 1'000'000'000;
  // Linux 6.1 waits 60 s for any command (cmd.h MLX4_CMD_TIME_CLASS_*) and 10 s for the register
  // (cmd.c GO_BIT_TIMEOUT_MSECS): a card under load, or one that clears memory in INIT_HCA, does
  // take long. For the probe, no source: chosen. NOP does nothing; an answer that takes longer than
  // this is a lost interrupt.
  std::uint64_t limits_[patience_classes] = {2 * second, 60 * second, 60 * second};
  /// How long the command register may stay taken before what is queued behind it ends with a
  /// timeout.
  static constexpr std::uint64_t go_limit = 10 * second;
  // How long a late answer may lie unseen. No source: chosen; nobody waits for it but memory.
  static constexpr std::uint64_t doubt_interval = second / 10;

  command_client own_{*this};
};

}  // namespace freehca
