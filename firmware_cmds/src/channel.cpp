// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Opens and closes the channel, ends commands, delivers and settles them.
#include <freehca/firmware_cmds/channel.hpp>

#include <new>

#include <freehca/hal/clock.hpp>
#include <freehca/hal/storage.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca {

status channel::open(const channel_resources& r) {
  if (is_open()) return driver_error::bad_state;
  const bool fits = r.slots >= 1 && r.slots <= most_slots && r.hcr.base != nullptr &&
                    r.hcr.bytes >= layouts::hcr::bytes && r.mailboxes.host != nullptr &&
                    r.mailboxes.bytes >= mailbox_bytes_for(r.slots) && r.storage != nullptr &&
                    r.storage_bytes >= storage_bytes_for(r.slots) &&
                    r.platform.operations != nullptr && r.platform.operations->now != nullptr;
  if (!fits || r.mailboxes.device_address % mailbox::bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(r.storage) % alignof(command_slot) != 0)
    return driver_error::bad_argument;

  hcr_ = r.hcr;
  mailboxes_ = r.mailboxes;
  platform_ = r.platform;
  slot_count_ = r.slots;
  index_bits_ = layouts::bit_width(r.slots - 1);
  slots_ = storage_for<command_slot>(r.storage);
  for (unsigned i = 0; i < slot_count_; ++i) {
    auto* s = new (r.storage + i * sizeof(command_slot)) command_slot;
    s->token = static_cast<std::uint16_t>(i);
  }
  failure_ = {};
  toggle_ = true;
  events_ = want_events_ = false;
  event_limit_ = 1;
  statistics_ = {};
  return {};
}

void channel::close() {
  if (!is_open()) return;
  FREEHCA_ASSERT(queued_ == 0 && slots_in_use() == 0);
  if (queued_ != 0 || slots_in_use() != 0) return;
  for (unsigned i = 0; i < slot_count_; ++i) slots_[i].~command_slot();
  slots_ = nullptr;
  slot_count_ = 0;
}

unsigned channel::poll() {
  FREEHCA_ASSERT(!polling_);
  if (polling_) return 0;
  polling_ = true;
  reactor_.begin_poll();
  if (is_open()) {
    look_for_polled_answer();
    reactor_.expire(platform_.now());
  }
  unsigned completed = deliver_and_settle();
  // A callback caused further settlements.
  if (settlements_due_) completed += deliver_and_settle();
  if (is_open() && queued_ > 0) post_what_may(platform_.now());
  polling_ = false;
  return completed;
}

void channel::use_events(unsigned limit) {
  event_limit_ = limit == 0 ? 1 : limit;
  want_events_ = true;
  reactor_.wake();
}

void channel::use_polling() {
  want_events_ = false;
  reactor_.wake();
}

void channel::fail_all(status why) {
  FREEHCA_ASSERT(!why.ok());
  if (why.ok() || !is_open()) return;
  failure_ = why;
  end_queued(why);
  for (unsigned i = 0; i < slot_count_; ++i) {
    command_slot& s = slots_[i];
    if (s.state != command_slot::use::in_flight) continue;
    command& c = *s.command;
    into_doubt(s);
    end(c, why);
  }
}

void channel::device_was_reset() {
  if (!is_open()) return;
  fail_all(transport_error::reset);
  for (unsigned i = 0; i < slot_count_; ++i) {
    command_slot& s = slots_[i];
    if (s.state == command_slot::use::in_doubt) answer_late(s, {.by_reset = true, .answer = {}});
    // An event queue may still hold answers from before the reset. Their tokens must not match any
    // more.
    s.token = static_cast<std::uint16_t>(s.token + (1u << index_bits_));
  }
  failure_ = {};
  toggle_ = true;
  events_ = want_events_ = false;
  register_owner_ = command::no_slot;
  register_taken_since_ = operation::no_deadline;
  // A callback of poll() may report the reset and then close the channel.
  const bool inside_poll = polling_;
  polling_ = true;
  deliver_and_settle();
  polling_ = inside_poll;
}

std::uint64_t channel::next_deadline() const {
  if (settlements_due_) return 0;
  // Commands that wait behind commands in doubt wait for the answers of those.
  const bool next_may_go = in_flight_ == 0 && doubtful_ == 0;
  if (queued_ > 0 && (next_may_go || register_taken_since_ != operation::no_deadline)) return 0;
  if (in_flight_ > 0 && register_owner_ != command::no_slot) return 0;
  std::uint64_t next = reactor_.next_deadline();
  // The late answer to a polled command raises no interrupt. The interrupt of a command in event
  // mode may be lost.
  if (doubtful_ > 0) next = clock::earlier(next, clock::after(platform_.now(), doubt_interval));
  return next;
}

void channel::end(command& c, status outcome) {
  // Leases that did not go into doubt return to their owners.
  while (c.at_risk_.pop_front() != nullptr) {
  }
  c.client_ = nullptr;
  if (!outcome.ok()) outcome = outcome.at(static_cast<unsigned>(c.request.opcode));
  reactor_.end(c, outcome);
  trace(c, outcome);
}

void channel::into_doubt(command_slot& s) {
  command& c = *s.command;
  while (lease* l = c.at_risk_.pop_front()) {
    l->in_doubt_ = true;
    in_doubt_[static_cast<unsigned>(l->kind_)] += l->amount_;
    s.leases.push_back(*l);
  }
  in_doubt_[static_cast<unsigned>(lease_kind::slot)] += 1;
  in_doubt_[static_cast<unsigned>(lease_kind::mailbox)] += s.mailboxes;
  --c.client_->in_flight_;
  s.command = nullptr;
  s.state = command_slot::use::in_doubt;
  --in_flight_;
  ++doubtful_;
  if (s.barrier) {
    --barriers_in_flight_;
    ++barriers_in_doubt_;
  }
}

void channel::free_slot(command_slot& s) {
  if (s.state == command_slot::use::in_flight) {
    --in_flight_;
    --s.command->client_->in_flight_;
    if (s.barrier) --barriers_in_flight_;
  } else {
    --doubtful_;
    if (s.barrier) --barriers_in_doubt_;
    in_doubt_[static_cast<unsigned>(lease_kind::slot)] -= 1;
    in_doubt_[static_cast<unsigned>(lease_kind::mailbox)] -= s.mailboxes;
  }
  if (register_owner_ == index_of(s)) register_owner_ = command::no_slot;
  s.command = nullptr;
  s.state = command_slot::use::free;
  if (s.line.in_use()) pass_on(s.line);
}

/// Completes commands before it settles their leases. If a command ends during the delivery, the
/// next call settles its leases.
unsigned channel::deliver_and_settle() {
  if (settlements_due_) {
    settlements_due_ = false;
    for (unsigned i = 0; i < slot_count_; ++i)
      if (slots_[i].state == command_slot::use::settled) slots_[i].state = command_slot::use::due;
  }
  const unsigned completed = reactor_.deliver();
  settle();
  return completed;
}

command::~command() {
  drop();
}

void channel::settle() {
  if (doubtful_ == 0) return;
  for (unsigned i = 0; i < slot_count_; ++i) {
    command_slot& s = slots_[i];
    if (s.state != command_slot::use::due) continue;
    const settlement end = s.end;
    list<lease> leases;
    while (lease* l = s.leases.pop_front()) {
      l->in_doubt_ = false;
      in_doubt_[static_cast<unsigned>(l->kind_)] -= l->amount_;
      leases.push_back(*l);
    }
    free_slot(s);
    while (lease* l = leases.pop_front())
      if (l->settle_ != nullptr) l->settle_(*l, end, l->context_);
  }
}

void channel::trace(const command& c, status outcome) const {
  if (platform_.operations == nullptr || platform_.operations->trace == nullptr) return;
  trace_record record;
  record.opcode = static_cast<std::uint16_t>(c.request.opcode);
  record.opcode_modifier = c.request.opcode_modifier;
  record.lane = static_cast<std::uint8_t>(c.request.lane);
  record.input_modifier = c.request.input_modifier;
  record.queued = c.queued_at_;
  record.posted = c.posted_at_;
  record.completed = platform_.now();
  record.outcome = outcome;
  platform_.operations->trace(platform_.context, record);
}

}  // namespace freehca
