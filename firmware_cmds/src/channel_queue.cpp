// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The queues. A command that may be posted is in a queue of its client. A command on an object that
// has an earlier command waits in the line of the object. poll() chooses the next command and
// writes it into the command register.
#include <freehca/firmware_cmds/channel.hpp>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca {

void command_client::submit(command& c) {
  channel_->submit(*this, c);
}

void command_client::cancel_all() {
  channel_->cancel_all(*this);
}

void channel::submit(command_client& client, command& c) {
  if (!c.startable()) return;
  c.begin(&on_cancel, this);
  c.client_ = &client;
  c.order_ = ++order_;
  c.posted_at_ = 0;
  c.output_immediate_ = 0;
  ++statistics_.submitted;

  const bool admitted = is_open() && (&client == &own_ || admits_clients_);
  c.queued_at_ = is_open() && traces() ? platform_.now() : 0;
  const command_request& r = c.request;
  using form = command_request::form;
  const bool sound = r.opcode_modifier <= 0xf && static_cast<unsigned>(r.opcode) <= 0xfff &&
                     (r.input != form::mailbox || r.input_data != nullptr) &&
                     (r.output != form::mailbox || r.output_data != nullptr) &&
                     r.header_bytes + r.input_bytes <= int{mailbox::bytes} &&
                     r.output_bytes <= mailbox::bytes && static_cast<unsigned>(r.lane) < lanes &&
                     static_cast<unsigned>(r.patience) < patience_classes;
  if (!sound || !failure_.ok() || !admitted) {
    ++statistics_.refused;
    return end(c, !admitted ? status(driver_error::bad_state)
                  : !sound  ? status(driver_error::bad_argument)
                            : failure_);
  }
  ++queued_;
  ++client.queued_;
  queue_.push_back(c);
  reactor_.watch(c);
  reactor_.wake();
  if (r.key.kind != object_kind::none) {
    list<key_line>& like = lines_like(r.key);
    for (key_line* line = like.front(); line != nullptr; line = like.next(*line))
      if (line->key == r.key) return line->waiting.push_back(c);
    c.line_.key = r.key;
    like.push_back(c.line_);
  }
  make_ready(c);
}

/// Returns the list that has the line of `key`, if the line is in use. Consecutive numbers, and
/// addresses that differ in high bits only, are in different lists.
list<key_line>& channel::lines_like(const object_key& key) {
  const std::uint64_t mixed = (key.number ^ key.number >> 32) + static_cast<unsigned>(key.kind);
  return lines_[mixed * 0x9e3779b97f4a7c15 >> 55];
}

void channel::move_line(key_line& from, key_line& to) {
  to.key = from.key;
  to.waiting.take_all(from.waiting);
  from.unlink();
  lines_like(to.key).push_back(to);
}

/// Passes the line to the oldest waiting command, which may then be posted. Called when the command
/// that held the line has ended or was answered.
void channel::pass_on(key_line& line) {
  command* const next = line.waiting.pop_front();
  if (next == nullptr) return line.unlink();
  move_line(line, next->line_);
  make_ready(*next);
}

/// Puts a command into the queue of its client, at the place of its age. A command that was just
/// submitted is the youngest. A command that waited for its object is older than most commands, or
/// younger than most: the search goes on from both ends.
void channel::make_ready(command& c) {
  lane_queue& queue = queue_of(c);
  if (!queue.linked()) turns_[static_cast<unsigned>(c.request.lane)].push_back(queue);
  command *later = queue.ready.front(), *earlier = queue.ready.back();
  if (earlier == nullptr || earlier->order_ < c.order_) return queue.ready.push_back(c);
  while (later->order_ < c.order_ && earlier->order_ > c.order_) {
    later = queue.ready.next(*later);
    earlier = queue.ready.previous(*earlier);
  }
  queue.ready.insert(later->order_ > c.order_ ? *later : *queue.ready.next(*earlier), c);
}

/// Removes a command from the queues. The command keeps its line.
void channel::take_out(command& c) {
  c.unlink();
  c.list_place<channel>::unlink();
  --queued_;
  --c.client_->queued_;
  if (queue_of(c).ready.empty()) queue_of(c).unlink();
  if (waiting_barrier_ == &c) waiting_barrier_ = nullptr;
}

void channel::end_queued(command& c, status outcome) {
  take_out(c);
  if (c.line_.linked()) pass_on(c.line_);
  ++(outcome.is(driver_error::cancelled) ? statistics_.cancelled : statistics_.refused);
  if (!polling_) reactor_.wake();  // the command may have held up others
  end(c, outcome);
}

/// Ends all queued commands of `client`. If `others` is true, ends the queued commands of all other
/// clients instead.
void channel::end_queued_of(const command_client* client, bool others, status outcome) {
  for (command *c = queue_.front(), *next = nullptr; c != nullptr; c = next) {
    next = queue_.next(*c);
    if ((c->client_ == client) != others) end_queued(*c, outcome);
  }
}

/// Ends a command early, because of cancel(), because its deadline has passed, or because it is
/// dropped.
void channel::on_cancel(operation& op, void* self) noexcept {
  auto& c = static_cast<command&>(op);
  auto& ch = *static_cast<channel*>(self);
  if (c.where() == operation::phase::queued) return ch.end_queued(c, c.stop_reason());
  // The firmware may have answered since the first look at the register in this poll().
  if (c.expired() && c.where() == operation::phase::in_flight) ch.look_at_register();
  if (c.where() != operation::phase::in_flight) return;
  ++(c.expired() ? ch.statistics_.timed_out : ch.statistics_.detached);
  ch.end_in_doubt(c, c.stop_reason());
}

void channel::cancel_all(command_client& of) {
  if (of.queued_ > 0) end_queued_of(&of, false, driver_error::cancelled);
  for (unsigned i = 0; i < slot_count_ && of.in_flight_ > 0; ++i) {
    command* const c = slots_[i].command;
    if (c != nullptr && c->client_ == &of) c->cancel();
  }
}

void channel::admit_clients(bool yes) {
  admits_clients_ = yes;
  if (!yes) end_queued_of(&own_, true, driver_error::bad_state);
}

/// Ends, with driver_error::busy, the commands that wait for an object whose last command is in
/// doubt and past its deadline.
void channel::end_behind_doubt(std::uint64_t now) {
  if (in_doubt(lease_kind::slot) == 0) return;
  for (unsigned i = 0; i < slot_count_; ++i) {
    command_slot& s = slots_[i];
    if (!s.in_doubt() || now < s.deadline()) continue;
    while (command* c = s.line.waiting.front()) end_queued(*c, driver_error::busy);
  }
}

void channel::post_queued(std::uint64_t now) {
  end_behind_doubt(now);
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
  if (barrier_ != nullptr && barrier_->in_flight()) return false;
  if (!events_ && in_flight_ > 0) return false;
  const bool full = (events_ && slots_in_use() >= event_limit_) || find_free_slot() == nullptr;
  if (!full && barrier_ == nullptr) return true;
  if (in_flight_ == 0 && !answer_may_come(now)) end_all_queued(transport_error::timeout);
  return false;
}

/// Returns true if a late answer has come, or if the deadline of a command in doubt has not passed.
/// The latter is so if a command was detached before its deadline.
bool channel::answer_may_come(std::uint64_t now) const {
  for (unsigned i = 0; i < slot_count_; ++i)
    if (slots_[i].under_way() && (!slots_[i].in_doubt() || now < slots_[i].deadline())) return true;
  return false;
}

/// Returns whether the firmware has taken the last command out of the register. Takes the answer to
/// a command in doubt, because the words of the next command would overwrite it.
bool channel::register_allows(std::uint64_t now) {
  if (look_at_register()) return true;
  if (register_taken_since_ == operation::no_deadline) register_taken_since_ = now;
  // A polled command in the register has until its own deadline, even if it is detached. Without
  // such a command, the register is stuck after go_limit.
  const bool late =
      register_ != nullptr ? now >= register_->deadline() : now - register_taken_since_ >= go_limit;
  if (late) end_all_queued(transport_error::timeout);
  return false;
}

/// Every command in `turns_` may be posted. The time of the choice therefore does not depend on the
/// number of queued commands.
command* channel::next_postable() {
  if (waiting_barrier_ != nullptr) return in_flight_ == 0 ? waiting_barrier_ : nullptr;
  for (list<lane_queue>& turns : turns_) {
    lane_queue* const next = turns.front();
    if (next == nullptr) continue;
    command& c = *next->ready.front();
    if (!c.request.barrier || in_flight_ == 0) return &c;
    waiting_barrier_ = &c;
    return nullptr;
  }
  return nullptr;
}

command_slot* channel::find_free_slot() {
  for (unsigned i = 0; i < slot_count_; ++i)
    if (slots_[i].free()) return &slots_[i];
  return nullptr;
}

void channel::post(command& c, command_slot& s, std::uint64_t now) {
  take_out(c);
  if (c.line_.linked()) move_line(c.line_, s.line);
  // The client goes behind the other clients of this lane.
  lane_queue& turn = queue_of(c);
  if (turn.linked()) {
    turn.unlink();
    turns_[static_cast<unsigned>(c.request.lane)].push_back(turn);
  }
  ++c.client_->in_flight_;
  c.mark_in_flight();
  c.slot_ = &s;
  c.posted_at_ = now;

  s.token = static_cast<std::uint16_t>(s.token + (1u << index_bits_));
  s.command = &c;
  if (c.deadline() == operation::no_deadline)
    reactor_.watch(c, clock::after(now, limits_[static_cast<unsigned>(c.request.patience)]));
  s.set_deadline(c.deadline());
  s.by_event = events_;
  s.ever_used = true;
  if (c.request.barrier) barrier_ = &s;
  if (!events_) register_ = &s;
  ++in_flight_;
  ++statistics_.posted;
  if (in_flight_ > statistics_.most_in_flight) statistics_.most_in_flight = in_flight_;

  using form = command_request::form;
  s.mailboxes = static_cast<std::uint8_t>((c.request.input == form::mailbox) +
                                          (c.request.output == form::mailbox));
  fill_mailboxes(c.request, s);

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

void channel::fill_mailboxes(const command_request& r, const command_slot& s) {
  using form = command_request::form;
  if (r.output == form::mailbox) {
    mailbox::clear(output_mailbox(s).host);
    // A cache line of the mailbox that is written back later would overwrite the answer.
    cache::clean(output_mailbox(s).host, mailbox::bytes);
  }
  if (r.input != form::mailbox) return;
  std::byte* const box = input_mailbox(s).host;
  mailbox::clear(box);
  if (r.header_bytes != 0) dma::store_bytes(box, r.input_header, r.header_bytes);
  dma::store_bytes(box + r.header_bytes, r.input_data, r.input_bytes);
  cache::clean(box, mailbox::bytes);
}

}  // namespace freehca
