// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The queues. A command that may be posted is in a queue of its client. A command on an object that
// has an earlier command waits in the line of the object.
#include <freehca/firmware_cmds/channel.hpp>

namespace freehca {

void command_client::submit(command& c) {
  channel_->submit(*this, c);
}

void command_client::cancel_all() {
  channel_->cancel_all(*this);
}

command& command_client::lane_queue::first() {
  command *f = fresh.front(), *r = released.front();
  return r == nullptr || (f != nullptr && f->order_ < r->order_) ? *f : *r;
}

void channel::submit(command_client& client, command& c) {
  if (!c.startable()) return;
  c.begin(&on_cancel, this);
  c.client_ = &client;
  c.order_ = ++order_;
  c.posted_at_ = 0;
  c.output_immediate_ = 0;
  ++statistics_.submitted;
  ++client.submitted_;

  const bool admitted = is_open() && (&client == &own_ || admits_clients_);
  c.queued_at_ = is_open() ? platform_.now() : 0;
  const command_request& r = c.request;
  using form = command_request::form;
  const bool sound = r.opcode_modifier <= 0xf && static_cast<unsigned>(r.opcode) <= 0xfff &&
                     (r.input != form::mailbox || r.encode != nullptr) &&
                     (r.output != form::mailbox || r.decode != nullptr) &&
                     static_cast<unsigned>(r.lane) < lanes &&
                     static_cast<unsigned>(r.patience) < patience_classes;
  if (!sound || !failure_.ok() || !admitted) {
    ++statistics_.refused;
    return end(c, !admitted ? status(driver_error::bad_state)
                  : !sound  ? status(driver_error::bad_argument)
                            : failure_);
  }
  ++queued_;
  ++client.queued_;
  reactor_.watch(c);
  reactor_.wake();
  if (r.key.kind != object_kind::none) {
    if (key_line* const line = lines_.find(r.key); line != nullptr)
      return line->waiting.push_back(c);
    lines_.add(c.line_, r.key);
  }
  make_ready(c, false);
}

void channel::make_ready(command& c, bool released) {
  const auto lane = static_cast<unsigned>(c.request.lane);
  lane_queue& queue = c.client_->lane_[lane];
  if (!queue.linked()) turns_[lane].push_back(queue);
  if (!released) return queue.fresh.push_back(c);
  // A linear search: few commands are released at a time, and an older command rarely goes ahead of
  // many others.
  command* later = queue.released.front();
  while (later != nullptr && later->order_ < c.order_) later = queue.released.next(*later);
  if (later == nullptr) queue.released.push_back(c);
  else queue.released.insert(*later, c);
}

/// Removes a command from the queues. The command keeps its line.
void channel::take_out(command& c) {
  c.unlink();
  --queued_;
  --c.client_->queued_;
  lane_queue& queue = c.client_->lane_[static_cast<unsigned>(c.request.lane)];
  if (queue.empty()) queue.unlink();
  if (waiting_barrier_ == &c) waiting_barrier_ = nullptr;
}

void channel::unqueue(command& c) {
  take_out(c);
  if (c.line_.in_use()) pass_on(c.line_);
}

/// Passes the line to the oldest waiting command, which may then be posted. Called when the command
/// that held the line has ended or was answered.
void channel::pass_on(key_line& line) {
  command* const next = line.waiting.pop_front();
  if (next == nullptr) return lines_.remove(line);
  lines_.replace(line, next->line_);
  make_ready(*next, true);
}

/// Ends a command early, because of cancel(), because its deadline has passed, or because it is
/// dropped.
void channel::on_cancel(operation& op, void* self) noexcept {
  auto& c = static_cast<command&>(op);
  auto& ch = *static_cast<channel*>(self);
  channel_statistics& count = ch.statistics_;
  switch (c.where()) {
    case operation::phase::queued:
      ch.unqueue(c);
      ++(c.expired() ? count.refused : count.cancelled);
      break;
    case operation::phase::in_flight:
      if (c.expired() && !ch.look_once_more(c)) return;
      ch.into_doubt(ch.slots_[c.slot_]);
      ++(c.expired() ? count.timed_out : count.detached);
      break;
    default:
      return;
  }
  ch.end(c, c.stop_reason());
}

/// Ends all queued commands of `client`. If `others` is true, ends the queued commands of all other
/// clients instead.
void channel::end_those(const command_client* client, bool others, status outcome) {
  const auto is_meant = [client, others](const command& c) {
    return (c.client_ == client) != others;
  };
  const auto finish = [this, outcome](command& c) {
    unqueue(c);
    ++(outcome.is(driver_error::cancelled) ? statistics_.cancelled : statistics_.refused);
    end(c, outcome);
  };
  const auto pick = [&is_meant](list<command>& from, list<command>& into) {
    for (command *c = from.front(), *next = nullptr; c != nullptr; c = next) {
      next = from.next(*c);
      if (!is_meant(*c)) continue;
      c->unlink();
      into.push_back(*c);
    }
  };
  for (list<lane_queue>& turns : turns_) {
    for (lane_queue *q = turns.front(), *next_queue = nullptr; q != nullptr; q = next_queue) {
      next_queue = turns.next(*q);
      list<command>* const both[] = {&q->released, &q->fresh};
      for (list<command>* ready : both) {
        for (command *c = ready->front(), *next = nullptr; c != nullptr; c = next) {
          next = ready->next(*c);
          // Remove the waiting commands first. The line of `c` then passes to a command that is not
          // ended.
          list<command> behind;
          pick(c->line_.waiting, behind);
          if (is_meant(*c)) finish(*c);
          while (command* b = behind.front()) finish(*b);
        }
      }
    }
  }
  for (unsigned i = 0; i < slot_count_; ++i) {
    list<command> behind;
    pick(slots_[i].line.waiting, behind);
    while (command* b = behind.front()) finish(*b);
  }
}

/// Ends, with driver_error::busy, the commands that wait for an object whose last command is in
/// doubt and past its deadline.
void channel::refuse_behind_doubt(std::uint64_t now) {
  if (doubtful_ == 0) return;
  for (unsigned i = 0; i < slot_count_; ++i) {
    command_slot& s = slots_[i];
    if (s.state != command_slot::use::in_doubt || now < s.deadline) continue;
    while (command* c = s.line.waiting.front()) {
      unqueue(*c);
      ++statistics_.refused;
      end(*c, driver_error::busy);
    }
  }
}

void channel::cancel_all(command_client& of) {
  if (of.queued_ > 0) end_those(&of, false, driver_error::cancelled);
  for (unsigned i = 0; i < slot_count_ && of.in_flight_ > 0; ++i) {
    command* const c = slots_[i].command;
    if (c != nullptr && c->client_ == &of) c->cancel();
  }
}

void channel::admit_clients(bool yes) {
  admits_clients_ = yes;
  if (!yes) end_those(&own_, true, driver_error::bad_state);
}

}  // namespace freehca
