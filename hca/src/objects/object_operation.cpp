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

void object_operation::adopt(device_object& object, finisher at_end) {
  owner_ = object.owner;
  owner_->expect_own_thread();
  object_ = &object;
  finish_ = at_end;
  outcome_so_far_ = {};
  object.under_change = true;
  ++owner_->operations_;
  begin(&object_operation::on_cancel, this);
  owner_->reactor_->watch(*this);
}

object_record* object_operation::take(verbs& owner, const kind& what) {
  const result<object_record*> taken = owner.take(what);
  if (taken.ok()) return taken.value();
  refuse(owner, taken.error());
  return nullptr;
}

void object_operation::start_creation(device_object& object, status planned, command* create,
                                      const page_list& pages, builder build, finisher at_end) {
  if (!planned.ok()) {
    object.owner->release(object);
    return refuse(*object.owner, planned);
  }
  adopt(object, at_end);
  command_ = create;
  pages_ = pages;
  build_ = build;
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
  adopt(object, nullptr);
  object.state = object_record::phase::destroying;
  enter(object.exists ? step::destroy : step::unmap);
}

void object_operation::start_command(device_object& object, step what, command& c,
                                     finisher at_end) {
  adopt(object, at_end);
  command_ = &c;
  enter(what);
}

void object_operation::refuse(verbs& owner, status why) {
  object_ = nullptr;
  owner.reactor_->refuse(*this, why);
}

void object_operation::prepare(command& c) {
  c.restart();
  if (step_ != step::query) c.put_at_risk(object_->at_risk);
  c.then(&object_operation::step_ended, this);
}

void object_operation::enter(step to) {
  if (dropped()) return leave();
  step_ = to;
  switch (to) {
    case step::unmap:
      // At the end of the step, the control owner frees the ring before this owner has the answer.
      // Until then the user can still find a completion queue, and poll or arm it.
      if (object_->what->has_rings) object_->what->strip(*owner_, *object_);
      [[fallthrough]];
    case step::map:
      request_.restart();
      request_.then(&object_operation::step_ended, this);
      break;
    case step::destroy:
      destroy_.request = object_->what->facts.destroying(object_->number);
      prepare(destroy_);
      break;
    case step::create:
      if (command_ == nullptr) break;
      object_->exists = true;
      [[fallthrough]];
    case step::modify:
    case step::query:
      prepare(*command_);
      break;
    case step::idle:
      return;
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
  const context_range entry = {object.what->facts.group, object.device_number, 1};
  context_range translations;
  if (object.translation_count != 0)
    translations = {context_group::mtt, object.translations, object.translation_count};
  switch (step_) {
    case step::map:
      return contexts.map(request_, entry, translations);
    case step::create:
      contexts.write_translations(object.translations, object.translation_count, pages_);
      if (command_ != nullptr) return commands.submit(*command_);
      answer_ = {};
      return answer();
    case step::destroy:
      return commands.submit(destroy_);
    case step::unmap:
      return contexts.unmap(request_, entry, translations);
    case step::modify:
    case step::query:
      return commands.submit(*command_);
    case step::idle:
      return;
  }
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
  object.in_doubt = doubtful_;
  doubtful_ = false;
  outcome = reason_for(outcome);
  if (object.in_doubt) return end_in_doubt(outcome);
  // The reset has removed all that the firmware had of the object. No step is left to undo.
  if (object.forgotten) {
    owner_->release(object);
    return finish(outcome.ok() ? status(transport_error::reset) : outcome);
  }
  // The device is about to be reset, and the reset undoes the steps. Until then the device may use
  // the resources of the object.
  if (!changes() && outcome.is(transport_error::reset)) {
    object.state = object_record::phase::held_until_reset;
    return finish(outcome);
  }
  if (command_ended(outcome)) return;
  if (!outcome.ok() && outcome_so_far_.ok()) outcome_so_far_ = outcome;
  if (outcome_so_far_.ok() && going_up()) outcome_so_far_ = stop_reason();
  const bool onwards = outcome_so_far_.ok();
  switch (step_) {
    case step::map:
      if (onwards) {
        object.number = object.device_number;
        outcome_so_far_ = build_(*this);
      }
      if (outcome_so_far_.ok()) return enter(step::create);
      if (outcome.ok()) return enter(step::unmap);
      break;
    case step::create:
      return enter(outcome.ok() && object.exists ? step::destroy : step::unmap);
    case step::destroy:
      return enter(step::unmap);
    default:
      break;
  }
  owner_->release(object);
  finish(outcome_so_far_);
}

bool object_operation::going_up() const {
  return step_ == step::map || step_ == step::create;
}

void object_operation::end_in_doubt(status outcome) {
  using state = object_record::phase;
  const bool keeps_object = outcome_so_far_.ok();
  device_object& object = *object_;
  verbs& owner = *owner_;
  object.state = step_ == step::create    ? state::doubtful_creation
                 : step_ != step::destroy ? state::doubtful_change
                 : keeps_object           ? state::doubtful_destruction
                                          : state::doubtful_unwinding;
  finish(outcome);
  if (!object.settled_first) return;
  object.settled_first = false;
  owner.settle(object);
}

bool object_operation::command_ended(status outcome) {
  device_object& object = *object_;
  switch (step_) {
    case step::modify:
    case step::query:
      finish(outcome);
      return true;
    case step::destroy: {
      if (outcome.ok()) {
        object.exists = false;
        return false;
      }
      // The command was refused or cancelled. The object still exists, and the user may try again.
      // An object that is being undone has no user and waits for a reset.
      const bool keeps_object = outcome_so_far_.ok();
      object.state =
          keeps_object ? object_record::phase::live : object_record::phase::held_until_reset;
      if (keeps_object) owner_->resume(object);
      finish(keeps_object ? outcome : outcome_so_far_);
      return true;
    }
    case step::create:
      if (!outcome.ok()) object.exists = false;
      if (!outcome.ok() || !stop_reason().ok()) return false;
      object.state = object_record::phase::live;
      finish(outcome);
      return true;
    default:
      return false;
  }
}

void object_operation::finish(status outcome) {
  step_ = step::idle;
  object_->under_change = false;
  if (finish_ != nullptr) finish_(*this, outcome);
  --owner_->operations_;
  complete(outcome);
}

/// Called for an operation that is being destroyed. The verbs object continues with the undo steps.
void object_operation::leave() {
  owner_->want_back(*object_);
  finish(outcome_so_far_);
}

void object_operation::drop_step() {
  operation& part = step_ == step::destroy               ? destroy_
                    : step_ == step::create || changes() ? static_cast<operation&>(*command_)
                                                         : request_;
  part.drop();
  record_answer(part);
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
  switch (step_) {
    case step::map:
      return request_.cancel();
    case step::create:
    case step::modify:
    case step::query:
      return command_ != nullptr ? command_->cancel() : void();
    case step::destroy:
      return destroy_.cancel();
    default:
      return;
  }
}

void device_object::settled(lease&, const settlement& end, void* self) noexcept {
  auto& object = *static_cast<device_object*>(self);
  object.settled_by = end;
  object.owner->to_owner(object.settling, [](crossing& c) noexcept {
    device_object& settled = crossing_of<device_object>::at(c);
    // The operation that put the object in doubt has not received its answer yet. The answer waits
    // for the return of a stop request.
    if (settled.under_change) settled.settled_first = true;
    else settled.owner->settle(settled);
  });
}

void verbs::resume(object_record& object) {
  // If the device is about to be reset, posts stay refused.
  if (object.what->resume != nullptr && up()) object.what->resume(object);
}

void verbs::settle(device_object& object) {
  using phase = object_record::phase;
  const settlement& end = object.settled_by;
  reactor_->wake();
  object.in_doubt = false;
  // verbs::forget() has taken back the other resources of the object.
  if (object.forgotten) return release(object);
  if (end.by_reset) {
    // If the user has a handle to the object, other objects may refer to it. verbs::forget()
    // releases all of them together.
    const bool has_handle =
        object.state == phase::doubtful_change || object.state == phase::doubtful_destruction;
    if (!has_handle) return release(object);
    object.state = phase::live;
    return;
  }
  const bool done = end.answer.ok();
  switch (object.state) {
    case phase::doubtful_creation:
      object.exists = done;
      return want_back(object);
    case phase::doubtful_unwinding:
      object.exists = !done;
      return want_back(object);
    case phase::doubtful_destruction:
      if (!done) {
        object.state = phase::live;
        resume(object);
        return;
      }
      object.exists = false;
      return want_back(object);
    case phase::doubtful_change:
      object.state = phase::live;
      if (object.what->settle_change != nullptr) object.what->settle_change(object, done);
      resume(object);
      return;
    default:
      return;
  }
}

}  // namespace freehca
