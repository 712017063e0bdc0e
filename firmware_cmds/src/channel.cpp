// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Opens and closes the channel, reads answers, ends commands and settles leases.
#include <freehca/firmware_cmds/channel.hpp>

#include <new>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/hal/storage.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca {

command::~command() {
  drop();
}

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

unsigned channel::poll(std::uint64_t now) {
  FREEHCA_ASSERT(!polling_);
  if (polling_) return 0;
  polling_ = true;
  reactor_.begin_poll();
  if (is_open()) {
    if (register_ != nullptr && failure_.ok()) look_at_register();
    reactor_.expire(now);
  }
  const unsigned completed = reactor_.deliver();
  // Callbacks have run since `now`. The time limit of a command must not begin before its posting.
  if (is_open() && queued_ > 0) post_queued(platform_.now());
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
  end_all_queued(why);
  for (unsigned i = 0; i < slot_count_; ++i)
    if (slots_[i].in_flight()) end_in_doubt(*slots_[i].command, why);
}

void channel::device_was_reset() {
  if (!is_open()) return;
  fail_all(transport_error::reset);
  for (unsigned i = 0; i < slot_count_; ++i) {
    command_slot& s = slots_[i];
    // This includes slots whose late answer was found and whose leases are not settled yet.
    if (s.under_way()) s.was_reset = true;
    if (s.in_doubt()) reactor_.end(s, {});
    // An event queue may still hold answers from before the reset. Their tokens must not match any
    // more.
    s.token = static_cast<std::uint16_t>(s.token + (1u << index_bits_));
  }
  failure_ = {};
  toggle_ = true;
  events_ = want_events_ = false;
  register_ = nullptr;
  register_taken_since_ = operation::no_deadline;
  // A callback of poll() may report the reset and then close the channel.
  const bool inside_poll = polling_;
  polling_ = true;
  reactor_.deliver();
  polling_ = inside_poll;
}

std::uint64_t channel::next_deadline() const {
  const bool doubt = in_doubt(lease_kind::slot) > 0;
  // Commands that wait behind commands in doubt wait for the answers of those.
  const bool next_may_go = in_flight_ == 0 && !doubt;
  if (queued_ > 0 && (next_may_go || register_taken_since_ != operation::no_deadline)) return 0;
  if (in_flight_ > 0 && register_ != nullptr) return 0;
  const std::uint64_t next = reactor_.next_deadline();
  // The late answer to a polled command raises no interrupt. The interrupt of a command in event
  // mode may be lost.
  return doubt ? clock::earlier(next, clock::after(platform_.now(), doubt_interval)) : next;
}

/// Reads the last word of the command register, and takes the answer of a polled command. Returns
/// true if the register is free. The register is taken until the firmware has cleared `go`. It is
/// also taken while `t` shows that the word is not yet the answer to the last command (Linux 6.1
/// cmd.c cmd_pending).
bool channel::look_at_register() {
  constexpr std::size_t last = layouts::hcr{}.go.offset;
  constexpr std::uint32_t all_ones = ~std::uint32_t{0};
  const std::uint32_t word = mmio::read_32(hcr_, last);
  // The word with the token has sixteen reserved bits. Only a device that is gone returns all ones
  // for it.
  if (word == all_ones && mmio::read_32(hcr_, layouts::hcr{}.token.offset) == all_ones) {
    fail_all(transport_error::gone);
    return false;
  }
  layouts::image<layouts::hcr> seen;
  layouts::store_be(seen.data() + last, word);
  if (seen.get<&layouts::hcr::go>() || seen.get<&layouts::hcr::t>() == toggle_) return false;
  register_taken_since_ = operation::no_deadline;
  if (register_ == nullptr) return true;
  command_slot& s = *register_;
  register_ = nullptr;
  std::uint64_t output_immediate = 0;
  if (s.in_flight() && s.command->request.output == command_request::form::immediate) {
    constexpr std::size_t at = layouts::hcr{}.out_param.offset;
    output_immediate = std::uint64_t{mmio::read_32(hcr_, at)} << 32 | mmio::read_32(hcr_, at + 4);
  }
  barrier::mmio_load_to_dma_load();
  answer(s, static_cast<std::uint8_t>(seen.get<&layouts::hcr::status>()), output_immediate);
  return true;
}

void channel::on_completion(std::uint16_t token, std::uint8_t raw_status,
                            std::uint64_t output_immediate) {
  const unsigned index = token & ((1u << index_bits_) - 1);
  const bool known = is_open() && index < slot_count_ && slots_[index].ever_used;
  command_slot* const s = known ? &slots_[index] : nullptr;
  if (s != nullptr && s->token != token) ++statistics_.stale;
  else if (s != nullptr && !s->in_flight() && !s->in_doubt()) ++statistics_.duplicate;
  else if (s == nullptr || !s->by_event) ++statistics_.foreign;
  else answer(*s, raw_status, output_immediate);
}

void channel::answer(command_slot& s, std::uint8_t raw_status, std::uint64_t output_immediate) {
  const status outcome = static_cast<layouts::command_status>(raw_status);
  if (s.in_doubt()) {
    ++statistics_.late;
    return reactor_.end(s, outcome);
  }
  command& c = *s.command;
  ++(outcome.ok() ? statistics_.answered_ok : statistics_.answered_with_error);
  if (outcome.ok() && c.request.output == command_request::form::immediate)
    c.output_immediate_ = output_immediate;
  if (outcome.ok() && c.request.output == command_request::form::mailbox) {
    cache::invalidate(output_mailbox(s).host, mailbox::bytes);
    dma::load_bytes(c.request.output_data, output_mailbox(s).host, c.request.output_bytes);
  }
  free_slot(s);
  end(c, outcome);
}

void channel::end(command& c, status outcome) {
  // Leases that did not go into doubt return to their owners.
  while (c.at_risk_.pop_front() != nullptr) {
  }
  if (c.where() == operation::phase::in_flight) {
    --in_flight_;
    --c.client_->in_flight_;
  }
  c.client_ = nullptr;
  if (!outcome.ok()) outcome = outcome.at(static_cast<unsigned>(c.request.opcode));
  reactor_.end(c, outcome);
  if (!traces()) return;
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

/// Ends a command in flight. Its slot, mailboxes and leases are in doubt from then on.
void channel::end_in_doubt(command& c, status outcome) {
  command_slot& s = *c.slot_;
  while (lease* l = c.at_risk_.pop_front()) {
    l->in_doubt_ = true;
    for (unsigned k = 0; k < kinds_in_leases; ++k) in_doubt_[k] += l->amounts_[k];
    s.leases.push_back(*l);
  }
  in_doubt_[static_cast<unsigned>(lease_kind::slot)] += 1;
  in_doubt_[static_cast<unsigned>(lease_kind::mailbox)] += s.mailboxes;
  s.command = nullptr;
  s.was_reset = false;
  s.begin(nullptr, nullptr);
  s.then(&settle, this);
  end(c, outcome);
}

void channel::settle(operation& slot, void* self) noexcept {
  auto& s = static_cast<command_slot&>(slot);
  auto& ch = *static_cast<channel*>(self);
  const settlement end{.by_reset = s.was_reset, .answer = s.outcome()};
  s.restart();
  list<lease> leases;
  while (lease* l = s.leases.pop_front()) {
    l->in_doubt_ = false;
    for (unsigned k = 0; k < kinds_in_leases; ++k) ch.in_doubt_[k] -= l->amounts_[k];
    leases.push_back(*l);
  }
  ch.in_doubt_[static_cast<unsigned>(lease_kind::slot)] -= 1;
  ch.in_doubt_[static_cast<unsigned>(lease_kind::mailbox)] -= s.mailboxes;
  ch.free_slot(s);
  while (lease* l = leases.pop_front())
    if (l->settle_ != nullptr) l->settle_(*l, end, l->context_);
}

void channel::free_slot(command_slot& s) {
  if (barrier_ == &s) barrier_ = nullptr;
  s.command = nullptr;
  if (s.line.linked()) pass_on(s.line);
}

}  // namespace freehca
