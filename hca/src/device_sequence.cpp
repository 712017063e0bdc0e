// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_sequence.hpp>

#include <freehca/hal/clock.hpp>

namespace freehca {

void device_sequence::start(operation& done, operation::callback stopped, void* owner,
                            goal towards) {
  done.begin(stopped, owner);
  done.mark_in_flight();
  done_ = &done;
  goal_ = towards;
  outcome_ = {};
  failure = {};
  turn(towards == goal::up ? course::up : course::down);
}

void device_sequence::join(operation& done, operation::callback stopped, void* owner) {
  done.begin(stopped, owner);
  done_ = &done;
  outcome_ = {};
  failure = {};
}

void device_sequence::orphan(operation::callback stopped, void* owner) {
  orphan_.restart();
  orphan_.set_deadline(done_->deadline());
  orphan_.begin(stopped, owner);
  orphan_.mark_in_flight();
  done_ = &orphan_;
  orphan_.cancel();
}

void device_sequence::enter(unsigned step) {
  step_ = step;
  phase = item = 0;
  committed = false;
  wake_ = 0;
  under_way_ = nullptr;
}

void device_sequence::turn(course to) {
  course_ = to;
  if (to == course::up) forgotten_ = false;
  const unsigned last = reached_ < bring_up_steps ? reached_ : bring_up_steps - 1;
  enter(to == course::up ? 0 : to == course::down ? last : step_);
}

void device_sequence::heed() {
  reason_ = reason_ == reason::overdue || reason_ == reason::spent ? reason::spent : reason::none;
}

void device_sequence::abandon() {
  drop_command();
  reason_ = reason::none;
  goal_ = goal::down;
  if (outcome_.ok()) outcome_ = transport_error::reset;
  turn(course::down);
}

bool device_sequence::next_step() {
  if (course_ == course::up) {
    reached_ = step_ + 1;
    partly = false;
    enter(step_ + 1);
    return step_ < bring_up_steps;
  }
  if (step_ <= reached_) {
    reached_ = step_;
    partly = false;
  }
  const bool more = step_ > 0;
  enter(more ? step_ - 1 : 0);
  return more;
}

void device_sequence::blame(bring_up_step step, status why) {
  if (!outcome_.ok()) return;
  failure.step = step;
  failure.cause = why;
  outcome_ = why.at(static_cast<unsigned>(step));
}

bool device_sequence::start_again() {
  outcome_ = done_->stop_reason();
  failure = {};
  if (outcome_.ok()) turn(course::up);
  return outcome_.ok();
}

void device_sequence::end() {
  course_ = course::none;
  reason_ = reason::none;
  operation* const done = done_;
  done_ = nullptr;
  if (done == nullptr) return;
  ++told_;
  done->complete(outcome_);
}

device_sequence::look device_sequence::take_look(std::uint64_t now) {
  const bool awaited = under_way_ != nullptr;
  if (awaited ? !under_way_->done() : wake_ != 0 && now < wake_ && (!stopping() || committed))
    return look::early;
  answer_ = awaited ? under_way_->outcome() : status();
  if (awaited && effect_ != nullptr && !effect_at_risk_.in_doubt()) {
    if (!answer_.ok()) *effect_ = false;
    effect_ = nullptr;
  }
  under_way_ = nullptr;
  wake_ = clock::never;
  return awaited ? look::answered : look::due;
}

std::uint64_t device_sequence::next_deadline() const {
  std::uint64_t next = clock::never;
  const bool waits = under_way_ != nullptr && !under_way_->done();
  if (course_ != course::none && !waits) next = wake_;
  const bool overdue = reason_ == reason::overdue || reason_ == reason::spent;
  return done_ != nullptr && !overdue ? clock::earlier(next, done_->deadline()) : next;
}

/// Bring-up stops at once, but for a reset: a command that the firmware has is detached. A teardown
/// is never broken off, but one that is overdue goes on by a reset.
bool device_sequence::stop() {
  const bool overdue = reason_ == reason::overdue || reason_ == reason::spent;
  if (course_ == course::reset || (course_ != course::up && !overdue)) return false;
  reason_ = overdue ? reason::overdue : reason::cancelled;
  if (committed) return false;
  wake_ = 0;
  pass_on_stop();
  return true;
}

void device_sequence::enforce_deadline(std::uint64_t now) {
  if (done_ == nullptr || reason_ == reason::overdue || reason_ == reason::spent ||
      now < done_->deadline())
    return;
  reason_ = reason_ == reason::cancelled ? reason::overdue : reason::spent;
  done_->expire();
}

status device_sequence::reason_for(status why) const {
  const bool told = done_ != nullptr && !done_->stop_reason().ok();
  return told && why.is(driver_error::cancelled) ? done_->stop_reason().at(why.where()) : why;
}

void device_sequence::drop_command() {
  // What a family adds to a command needs no destructor.
  if (command_ != nullptr) command_->~command();
  command_ = nullptr;
}

void device_sequence::send(channel& commands, unsigned next_phase) {
  phase = next_phase;
  under_way_ = command_;
  commands.submit(*command_);
}

void device_sequence::send_with_effect(channel& commands, unsigned next_phase, bool& effect) {
  effect = true;
  effect_ = &effect;
  command_->put_at_risk(effect_at_risk_);
  send(commands, next_phase);
}

void device_sequence::effect_settled(lease&, const settlement& end, void* self) noexcept {
  auto& s = *static_cast<device_sequence*>(self);
  if (s.effect_ != nullptr && !end.by_reset && !end.answer.ok()) *s.effect_ = false;
  s.effect_ = nullptr;
}

}  // namespace freehca
