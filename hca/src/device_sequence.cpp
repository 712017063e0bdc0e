// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_sequence.hpp>

#include <freehca/hal/clock.hpp>

namespace freehca {

void device_sequence::start(operation& done, operation::callback stopped, void* owner, course to) {
  join(done, stopped, owner);
  done.mark_in_flight();
  up_again_ = false;
  turn(to);
}

void device_sequence::join(operation& done, operation::callback stopped, void* owner) {
  done.begin(stopped, owner);
  commands_.reactor().watch(done);
  done_ = &done;
  outcome_ = {};
  failure = {};
}

void device_sequence::orphan(operation::callback stopped, void* owner) {
  orphan_.drop();  // it may have ended and not be completed yet
  orphan_.restart();
  orphan_.set_deadline(done_->deadline());
  orphan_.begin(stopped, owner);
  orphan_.mark_in_flight();
  commands_.reactor().watch(orphan_);
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

void device_sequence::abandon() {
  drop_command();
  stopping_ = false;
  up_again_ = false;
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

void device_sequence::record_failure(bring_up_step step, status why) {
  if (!outcome_.ok()) return;
  failure.step = step;
  failure.cause = why;
  outcome_ = why.at(static_cast<unsigned>(step));
}

bool device_sequence::start_again() {
  if (!up_again_) return false;
  up_again_ = false;
  outcome_ = done_->stop_reason();
  failure = {};
  if (outcome_.ok()) turn(course::up);
  return outcome_.ok();
}

void device_sequence::end() {
  course_ = course::none;
  stopping_ = false;
  if (done_ != nullptr) commands_.reactor().end(*done_, outcome_);
  done_ = nullptr;
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

std::uint64_t device_sequence::next_look() const {
  if (course_ == course::none) return clock::never;
  if (under_way_ == nullptr) return wake_;
  // poll() also completes operations after the step was called.
  return under_way_->done() ? 0 : clock::never;
}

/// A bring-up stops at once, except during a reset. A command that the firmware has is detached. A
/// teardown ignores cancel(). If the deadline of a teardown has passed, it continues with a reset.
bool device_sequence::stop() {
  if (course_ == course::reset || (course_ != course::up && !done_->expired())) return false;
  stopping_ = true;
  if (committed) return false;
  wake_ = 0;
  pass_on_stop();
  return true;
}

status device_sequence::reason_for(status why) const {
  return done_ != nullptr ? done_->reason_for(why) : why;
}

void device_sequence::drop_command() {
  // The members that firmware_command adds to a command need no destructor.
  if (command_ != nullptr) command_->~command();
  command_ = nullptr;
}

status device_sequence::send(unsigned next_phase) {
  commands_.submit(*command_);
  return await(next_phase, *command_);
}

status device_sequence::send_with_effect(unsigned next_phase, bool& effect) {
  effect = true;
  effect_ = &effect;
  command_->put_at_risk(effect_at_risk_);
  return send(next_phase);
}

void device_sequence::effect_settled(lease&, const settlement& end, void* self) noexcept {
  auto& s = *static_cast<device_sequence*>(self);
  if (s.effect_ != nullptr && !end.by_reset && !end.answer.ok()) *s.effect_ = false;
  s.effect_ = nullptr;
}

}  // namespace freehca
