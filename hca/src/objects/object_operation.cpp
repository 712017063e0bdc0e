// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/objects/object_operation.hpp>

#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

device_object::device_object() = default;
device_object::~device_object() = default;
object_operation::object_operation() = default;
object_operation::~object_operation() {
  drop();
}

/// The steps that may follow a step. `idle`: the operation ends and releases the object. modify and
/// query end the operation with any outcome, create if it has made the object, destroy if it has
/// failed.
struct object_operation::transition {
  step next;       // after success
  step undo;       // after success, if the operation has failed or is to end early
  step refused;    // after a failure
  phase in_doubt;  // of the object if the command was not answered
};
constexpr object_operation::transition object_operation::transitions[] = {
    // next          undo           refused      in_doubt
    {step::idle, step::idle, step::idle, phase::free},                    // idle
    {step::create, step::unmap, step::idle, phase::free},                 // map
    {step::idle, step::destroy, step::unmap, phase::doubtful_creation},   // create
    {step::unmap, step::unmap, step::idle, phase::doubtful_destruction},  // destroy
    {step::idle, step::idle, step::idle, phase::free},                    // unmap
    {step::idle, step::idle, step::idle, phase::doubtful_change},         // modify
    {step::idle, step::idle, step::idle, phase::free},                    // query
};

void object_operation::adopt(device_object& object, phase to, finisher at_end) {
  owner_ = object.owner;
  owner_->expect_entered();
  object_ = &object;
  finish_ = at_end;
  outcome_so_far_ = {};
  object.state = to;
  ++owner_->operations_;
  begin(&object_operation::on_cancel, this);
  owner_->reactor_->watch(*this);
}

void object_operation::start_creation(verbs& owner, const creator& how, command* create,
                                      const page_list& pages) {
  const result<object_record*> taken = owner.take(how.what);
  if (!taken.ok()) return refuse(owner, taken.error());
  auto& object = static_cast<device_object&>(*taken.value());
  if (create != nullptr) create->restart();
  if (const status s = how.plan(*this, object); !s.ok()) {
    owner.release(object);
    return refuse(owner, s);
  }
  adopt(object, phase::creating, how.finished);
  command_ = create;
  pages_ = pages;
  creator_ = &how;
  enter(step::map);
}

void object_operation::start_destruction(verbs& owner, device_object* object) {
  if (const status s = verbs::usable(object); !s.ok()) return refuse(owner, s);
  if (object->users != 0) return refuse(owner, driver_error::busy);
  if (object->what->suspend != nullptr) object->what->suspend(*object);
  take_back(*object);
}

void object_operation::start_unwinding(device_object& object) {
  take_back(object);
  // With this outcome, a refusal by the firmware puts the object in phase held_until_reset. The
  // object then has no user and waits for the reset.
  outcome_so_far_ = driver_error::cancelled;
}

void object_operation::take_back(device_object& object) {
  const bool exists = object.state == phase::live || object.state == phase::reclaimable;
  adopt(object, phase::destroying, nullptr);
  enter(exists ? step::destroy : step::unmap);
}

void object_operation::start_command(device_object& object, step what, command& c,
                                     finisher at_end) {
  adopt(object, phase::changing, at_end);
  command_ = &c;
  enter(what);
}

void object_operation::refuse(verbs& owner, status why) {
  object_ = nullptr;
  owner.reactor_->refuse(*this, why);
}

void object_operation::enter(step to) {
  if (dropped()) {
    // The operation is being destroyed. The verbs object continues with the undo steps.
    owner_->want_back(*object_,
                      to == step::destroy ? phase::reclaimable : phase::reclaimable_blank);
    return finish(outcome_so_far_);
  }
  step_ = to;
  part_ = to == step::destroy                    ? &destroy_
          : to == step::map || to == step::unmap ? static_cast<operation*>(&request_)
                                                 : command_;
  // At the end of the step, the control owner frees the ring before this owner has the answer.
  // Until then the user can still find a completion queue, and poll or arm it.
  if (to == step::unmap && object_->what->has_rings) object_->what->strip(*owner_, *object_);
  if (to == step::destroy) destroy_.request = object_->what->facts.destroying(object_->number);
  if (part_ != nullptr) {
    part_->restart();
    part_->then(&object_operation::step_ended, this);
    if (transitions[static_cast<unsigned>(to)].in_doubt != phase::free)
      static_cast<command*>(part_)->put_at_risk(object_->at_risk);
  }
  owner_->to_control(step_crossing_, [](crossing& c) noexcept { at(c).run(); });
}

void object_operation::run() {
  context_tables& contexts = owner_->adapter().contexts();
  channel& commands = owner_->adapter().commands();
  device_object& object = *object_;
  if (step_ == step::map)
    if (const status s = owner_->allocate(object, pages_); !s.ok())
      return commands.reactor().refuse(request_, s);
  if (step_ == step::create)
    contexts.write_translations(object.translations, object.translation_count, pages_);
  if (part_ == nullptr) {
    answer_ = {};
    return answer();
  }
  if (part_ != &request_) return commands.submit(*static_cast<command*>(part_));
  const context_range entry = {object.what->facts.group, object.device_number, object.number_count};
  context_range translations;
  if (object.translation_count != 0)
    translations = {context_group::mtt, object.translations, object.translation_count};
  if (step_ == step::map) contexts.map(request_, entry, translations);
  else contexts.unmap(request_, entry, translations);
}

void object_operation::step_ended(operation& op, void* self) noexcept {
  auto& of_step = *static_cast<object_operation*>(self);
  of_step.record_answer(op);
  of_step.answer();
}

void object_operation::record_answer(const operation& part) {
  answer_ = part.outcome();
  doubtful_ = object_->at_risk.in_doubt();
  // No step follows. After a reset, the object's owner releases the object later.
  const bool last = step_ == step::unmap || (step_ == step::map && !answer_.ok());
  if (last && !answer_.is(transport_error::reset)) owner_->free(*object_);
}

void object_operation::answer() {
  owner_->to_owner(step_crossing_, [](crossing& c) noexcept {
    object_operation& op = at(c);
    // The stop request is still under way to the control owner. The control owner will access the
    // operation, so the operation waits.
    if (op.stopping_) op.answered_ = true;
    else op.advance(op.answer_);
  });
}

void object_operation::advance(status outcome) {
  device_object& object = *object_;
  outcome = reason_for(outcome);
  if (doubtful_) return end_in_doubt(outcome);
  // The reset has removed all that the firmware had of the object. No step is left to undo.
  if (object.state == phase::forgotten) {
    owner_->release(object);
    return finish(outcome.ok() ? status(transport_error::reset) : outcome);
  }
  if (changes()) return finish(outcome);
  // The device is about to be reset, and the reset undoes the steps. Until then the device may use
  // the resources of the object.
  if (outcome.is(transport_error::reset)) {
    object.state = phase::held_until_reset;
    return finish(outcome);
  }
  if (step_ == step::create && outcome.ok() && stop_reason().ok()) {
    object.state = command_ != nullptr ? phase::live : phase::blank;
    return finish(outcome);
  }
  if (step_ == step::destroy && !outcome.ok()) {
    // The command was refused or cancelled. The object still exists, and the user may try again.
    // An object that is being undone has no user and waits for a reset.
    const bool keeps_object = outcome_so_far_.ok();
    object.state = keeps_object ? phase::live : phase::held_until_reset;
    if (keeps_object) owner_->resume(object);
    return finish(keeps_object ? outcome : outcome_so_far_);
  }
  if (!outcome.ok() && outcome_so_far_.ok()) outcome_so_far_ = outcome;
  if (outcome_so_far_.ok() && going_up()) outcome_so_far_ = stop_reason();
  if (step_ == step::map && outcome_so_far_.ok()) {
    object.number = object.device_number;
    outcome_so_far_ = creator_->build(*this);
  }
  const transition& t = transitions[static_cast<unsigned>(step_)];
  const step to = !outcome.ok() ? t.refused : outcome_so_far_.ok() ? t.next : t.undo;
  // No command has created the object.
  const bool nothing_to_destroy = step_ == step::create && command_ == nullptr;
  if (to != step::idle) return enter(nothing_to_destroy ? step::unmap : to);
  owner_->release(object);
  finish(outcome_so_far_);
}

bool object_operation::going_up() const {
  return step_ == step::map || step_ == step::create;
}

void object_operation::end_in_doubt(status outcome) {
  device_object& object = *object_;
  verbs& owner = *owner_;
  const bool settled = object.state == phase::settled || object.state == phase::forgotten_settled;
  if (object.state == phase::forgotten || object.state == phase::forgotten_settled)
    object.state = phase::doubtful_forgotten;
  else if (step_ == step::destroy && !outcome_so_far_.ok())
    object.state = phase::doubtful_unwinding;
  else object.state = transitions[static_cast<unsigned>(step_)].in_doubt;
  finish(outcome);
  if (settled) owner.settle(object);
}

void object_operation::finish(status outcome) {
  step_ = step::idle;
  if (object_->state == phase::changing) object_->state = phase::live;
  if (finish_ != nullptr) finish_(*this, outcome);
  --owner_->operations_;
  complete(outcome);
}

void object_operation::drop_step() {
  part_->drop();
  record_answer(*part_);
}

void object_operation::on_cancel(operation& dropped_or_not, void* self) noexcept {
  auto& op = *static_cast<object_operation*>(self);
  if (dropped_or_not.dropped()) return op.owner_->drop(op);
  // Steps that undo something are not stopped.
  const bool stoppable =
      op.going_up() || op.changes() || (op.step_ == step::destroy && op.outcome_so_far_.ok());
  if (stoppable) op.owner_->stop(op);
}

void verbs::drop(object_operation& op) {
  if (link_ != nullptr) return (this->*link_->drop)(op);
  op.drop_step();
  op.advance(op.answer_);
}

void verbs::stop(object_operation& op) {
  if (op.stopping_) return;
  op.stopping_ = true;
  to_control(op.stop_crossing_, [](crossing& c) noexcept {
    object_operation& asked = object_operation::at(c);
    asked.stop_step();
    asked.owner_->to_owner(c, [](crossing& back) noexcept {
      object_operation& returned = object_operation::at(back);
      returned.stopping_ = false;
      if (!returned.answered_) return;
      returned.answered_ = false;
      returned.advance(returned.answer_);
    });
  });
}

void object_operation::stop_step() {
  if (part_ != nullptr && step_ != step::unmap) part_->cancel();
}

void device_object::settled(lease&, const settlement& end, void* self) noexcept {
  auto& object = *static_cast<device_object*>(self);
  object.settled_by = end;
  object.owner->to_owner(object.settling, [](crossing& c) noexcept {
    device_object& settled = crossing_of<device_object>::at(c);
    // The operation that put the object in doubt has not received its answer yet. The answer waits
    // for the return of a stop request.
    if (!settled.under_change()) return settled.owner->settle(settled);
    settled.state = settled.state == phase::forgotten ? phase::forgotten_settled : phase::settled;
  });
}

void verbs::resume(object_record& object) {
  // If the device is about to be reset, posts stay refused.
  if (object.what->resume != nullptr && up()) object.what->resume(object);
}

/// The states that may follow a state in doubt.
struct end_of_doubt {
  object_record::phase done, refused, reset;  // by the late answer, or by a reset
};

void verbs::settle(device_object& object) {
  using enum object_record::phase;
  static constexpr end_of_doubt ends[] = {
      // done              refused            reset
      {reclaimable, reclaimable_blank, free},  // doubtful_creation
      // If the user has a handle to the object, other objects may refer to it. verbs::forget()
      // releases all of them together.
      {live, live, live},                      // doubtful_change
      {reclaimable_blank, live, live},         // doubtful_destruction
      {reclaimable_blank, reclaimable, free},  // doubtful_unwinding
      {free, free, free},                      // doubtful_forgotten
  };
  const settlement& end = object.settled_by;
  const bool done = end.answer.ok();
  const bool changed = object.state == doubtful_change;
  const end_of_doubt& row =
      ends[static_cast<unsigned>(object.state) - static_cast<unsigned>(doubtful_creation)];
  const object_record::phase to = end.by_reset ? row.reset : done ? row.done : row.refused;
  reactor_->wake();
  if (to == free) return release(object);
  if (to != live) return want_back(object, to);
  object.state = live;
  if (end.by_reset) return;
  if (changed && object.what->settle_change != nullptr) object.what->settle_change(object, done);
  resume(object);
}

}  // namespace freehca
