// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Chooses the next command and writes it into the command register.
#include <freehca/firmware_cmds/channel.hpp>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca {

void channel::post_what_may(std::uint64_t now) {
  refuse_behind_doubt(now);
  while (queued_ > 0 && may_post(now)) {
    command* c = next_postable();
    if (c == nullptr || !register_allows(now)) return;
    post(*c, *find_free_slot(), now);
  }
}

/// Returns whether one more command can be posted now. If no command is in flight, and commands in
/// doubt that can no longer be answered block all others, the queued commands end with
/// transport_error::timeout.
bool channel::may_post(std::uint64_t now) {
  if (!failure_.ok()) return false;
  if (events_ != want_events_) {
    if (in_flight_ > 0) return false;
    events_ = want_events_;
  }
  if (barriers_in_flight_ > 0 || (!events_ && in_flight_ > 0)) return false;
  const bool full =
      (events_ && in_flight_ + doubtful_ >= event_limit_) || find_free_slot() == nullptr;
  if (!full && barriers_in_doubt_ == 0) return true;
  if (in_flight_ == 0 && !answer_may_come(now)) end_queued(transport_error::timeout);
  return false;
}

/// Returns true if a late answer has come, or if the deadline of a command in doubt has not passed.
/// The latter is so if a command was detached before its deadline.
bool channel::answer_may_come(std::uint64_t now) const {
  if (settlements_due_) return true;
  for (unsigned i = 0; i < slot_count_; ++i)
    if (slots_[i].state == command_slot::use::in_doubt && now < slots_[i].deadline) return true;
  return false;
}

/// Returns whether the firmware has taken the last command out of the register.
bool channel::register_allows(std::uint64_t now) {
  std::uint8_t raw_status = 0;
  switch (look(&raw_status)) {
    case register_state::free:
      // Take the answer to a command in doubt now: the words of the next command would overwrite
      // it.
      if (register_owner_ != command::no_slot) take_polled_answer(raw_status);
      register_taken_since_ = operation::no_deadline;
      return true;
    case register_state::gone:
      fail_all(transport_error::gone);
      return false;
    case register_state::taken:
      break;
  }
  if (register_taken_since_ == operation::no_deadline) register_taken_since_ = now;
  // A polled command in the register has until its own deadline, even if it is detached. Without
  // such a command, the register is stuck after go_limit.
  const bool late = register_owner_ != command::no_slot ? now >= slots_[register_owner_].deadline
                                                        : now - register_taken_since_ >= go_limit;
  if (late) end_queued(transport_error::timeout);
  return false;
}

/// Every command in `turns_` may be posted. The time of the choice therefore does not depend on the
/// number of queued commands.
command* channel::next_postable() {
  if (waiting_barrier_ != nullptr) return in_flight_ == 0 ? waiting_barrier_ : nullptr;
  for (list<lane_queue>& turns : turns_) {
    lane_queue* const next = turns.front();
    if (next == nullptr) continue;
    command& c = next->first();
    if (!c.request.barrier || in_flight_ == 0) return &c;
    waiting_barrier_ = &c;
    return nullptr;
  }
  return nullptr;
}

command_slot* channel::find_free_slot() {
  for (unsigned i = 0; i < slot_count_; ++i)
    if (slots_[i].state == command_slot::use::free) return &slots_[i];
  return nullptr;
}

void channel::post(command& c, command_slot& s, std::uint64_t now) {
  take_out(c);
  if (c.line_.in_use()) lines_.replace(c.line_, s.line);
  // The client goes behind the other clients of this lane.
  lane_queue& turn = c.client_->lane_[static_cast<unsigned>(c.request.lane)];
  if (turn.linked()) {
    turn.unlink();
    turns_[static_cast<unsigned>(c.request.lane)].push_back(turn);
  }
  ++c.client_->in_flight_;
  ++c.client_->posted_;
  c.mark_in_flight();
  c.slot_ = static_cast<std::uint16_t>(index_of(s));
  c.posted_at_ = now;

  s.token = static_cast<std::uint16_t>(s.token + (1u << index_bits_));
  s.command = &c;
  s.posted_at = now;
  s.deadline = c.deadline();
  if (s.deadline == operation::no_deadline) {
    s.deadline = clock::after(now, limits_[static_cast<unsigned>(c.request.patience)]);
    reactor_.watch(c, s.deadline);
  }
  s.barrier = c.request.barrier;
  s.by_event = events_;
  s.ever_used = true;
  s.state = command_slot::use::in_flight;
  if (s.barrier) ++barriers_in_flight_;
  if (!events_) register_owner_ = c.slot_;
  ++in_flight_;
  ++statistics_.posted;
  if (in_flight_ > statistics_.most_in_flight) statistics_.most_in_flight = in_flight_;

  using form = command_request::form;
  s.mailboxes = static_cast<std::uint8_t>((c.request.input == form::mailbox) +
                                          (c.request.output == form::mailbox));
  fill_mailboxes(c, s);

  layouts::image<layouts::hcr> words;
  words
      .set<&layouts::hcr::in_param>(c.request.input == form::mailbox
                                        ? input_mailbox(s).device_address
                                    : c.request.input == form::immediate ? c.request.input_immediate
                                                                         : 0)
      .set<&layouts::hcr::in_modifier>(c.request.input_modifier)
      .set<&layouts::hcr::out_param>(
          c.request.output == form::mailbox ? output_mailbox(s).device_address : 0)
      .set<&layouts::hcr::token>(s.token)
      .set<&layouts::hcr::go>(true)
      .set<&layouts::hcr::e>(events_)
      .set<&layouts::hcr::t>(toggle_)
      .set<&layouts::hcr::opcode_modifier>(c.request.opcode_modifier)
      .set<&layouts::hcr::opcode>(c.request.opcode);
  toggle_ = !toggle_;

  constexpr std::size_t last = layouts::hcr{}.go.offset;
  for (std::size_t at = 0; at < last; at += 4)
    mmio::write_32(hcr_, at, layouts::load_be<std::uint32_t>(words.data() + at));
  barrier::dma_store_to_mmio_store();
  barrier::mmio_store_to_mmio_store();
  mmio::write_32(hcr_, last, layouts::load_be<std::uint32_t>(words.data() + last));
}

void channel::fill_mailboxes(command& c, const command_slot& s) {
  using form = command_request::form;
  if (c.request.output == form::mailbox) {
    mailbox::clear(output_mailbox(s).host);
    // A cache line of the mailbox that is written back later would overwrite the answer.
    cache::clean(output_mailbox(s).host, mailbox::bytes);
  }
  if (c.request.input != form::mailbox) return;
  mailbox::clear(input_mailbox(s).host);
  c.request.encode(c, input_mailbox(s).host);
  cache::clean(input_mailbox(s).host, mailbox::bytes);
}

}  // namespace freehca
