// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/object_operation.hpp>

#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/firmware_cmds/qp.hpp>

#include <freehca/hca/verbs.hpp>

namespace freehca {

namespace {

/// The command that takes an object of the group back. None of them has a mailbox.
template <class Family>
command_request request_of(std::uint32_t number) {
  command_request r;
  r.opcode = Family::code;
  Family::aim(r, number);
  return r;
}

command_request destroying(const object_record& object) {
  switch (object.group) {
    case context_group::cq:
      return request_of<commands::hw2sw_cq>(object.number);
    case context_group::qp:
      return request_of<commands::to_rst_qp>(object.number);
    default:
      return request_of<commands::hw2sw_mpt>(object.number);
  }
}

}  // namespace

void object_operation::adopt(verbs& owner, object_record& object, finisher at_end) {
  owner_ = &owner;
  object_ = &object;
  finish_ = at_end;
  outcome_so_far_ = {};
  object.under_change = true;
  ++owner.operations_;
  begin(&object_operation::on_cancel, this);
  if (deadline() == no_deadline) return;
  owner.limited_.push_back(*this);
  owner.deadlines_.add(*this);
}

void object_operation::start_creation(verbs& owner, object_record& object, command* create,
                                      preparer prepare, finisher at_end) {
  adopt(owner, object, at_end);
  command_ = create;
  prepare_ = prepare;
  object.state = object_record::phase::creating;
  enter(object.translation_count != 0 ? step::map_translations : step::map_object);
}

void object_operation::start_destruction(verbs& owner, object_record& object, finisher at_end) {
  adopt(owner, object, at_end);
  object.state = object_record::phase::destroying;
  enter(object.exists ? step::destroy : step::unmap_object);
}

void object_operation::start_change(verbs& owner, object_record& object, command& change,
                                    finisher at_end) {
  adopt(owner, object, at_end);
  command_ = &change;
  enter(step::modify);
}

void object_operation::refuse(verbs& owner, status why) {
  owner_ = &owner;
  object_ = nullptr;
  finish_ = nullptr;
  outcome_so_far_ = why;
  step_ = step::idle;
  ++owner.operations_;
  begin(&object_operation::on_cancel, this);
  owner.ended_.push_back(*this);
}

void object_operation::submit(command& c) {
  c.restart();
  // Reading a context puts nothing at risk but the mailbox.
  if (c.request.opcode != layouts::opcode::query_qp) {
    c.put_at_risk(object_->number_at_risk);
    c.put_at_risk(object_->mapping_at_risk);
    c.put_at_risk(object_->buffer_at_risk);
  }
  c.then(&object_operation::on_command, this);
  owner_->on().commands().submit(c);
}

void object_operation::enter(step to) {
  step_ = to;
  context_tables& contexts = owner_->on().contexts();
  const auto with_request = [this] {
    request_.restart();
    request_.then(&object_operation::on_request, this);
  };
  switch (to) {
    case step::map_translations:
      with_request();
      return contexts.map(request_, context_group::mtt, object_->translations,
                          object_->translation_count);
    case step::map_object:
      with_request();
      return contexts.map(request_, object_->group, object_->number);
    case step::create:
      prepare_(*this);
      if (command_ == nullptr) return advance({});
      object_->exists = true;
      return submit(*command_);
    case step::destroy:
      destroy_.request = destroying(*object_);
      return submit(destroy_);
    case step::unmap_object:
      with_request();
      return contexts.unmap(request_, object_->group, object_->number);
    case step::unmap_translations:
      if (object_->translation_count == 0) return advance({});
      with_request();
      return contexts.unmap(request_, context_group::mtt, object_->translations,
                            object_->translation_count);
    case step::modify:
      return submit(*command_);
    case step::idle:
      return;
  }
}

void object_operation::advance(status outcome) {
  object_record& object = *object_;
  // What it was told, and not what it told its step.
  if (outcome.is(driver_error::cancelled) && !stop_reason().ok())
    outcome = stop_reason().at(outcome.where());
  if (object.in_doubt()) return end_in_doubt(outcome);
  // A reset took the firmware's side of everything: there is nothing left to undo.
  if (object.forgotten || (step_ != step::modify && outcome.is(transport_error::reset))) {
    owner_->release(object);
    return finish(outcome.ok() ? status(transport_error::reset) : outcome);
  }
  if (command_ended(outcome)) return;
  if (!outcome.ok() && outcome_so_far_.ok()) outcome_so_far_ = outcome;
  if (outcome_so_far_.ok() && going_up()) outcome_so_far_ = stop_reason();
  const bool onwards = outcome_so_far_.ok();
  switch (step_) {
    case step::map_translations:
      if (onwards) return enter(step::map_object);
      if (outcome.ok()) return enter(step::unmap_translations);
      break;
    case step::map_object:
      if (onwards) return enter(step::create);
      return enter(outcome.ok() ? step::unmap_object : step::unmap_translations);
    case step::create:
      return enter(outcome.ok() && object.exists ? step::destroy : step::unmap_object);
    case step::destroy:
      return enter(step::unmap_object);
    case step::unmap_object:
      return enter(step::unmap_translations);
    default:
      break;
  }
  owner_->release(object);
  finish(outcome_so_far_);
}

bool object_operation::going_up() const {
  return step_ == step::map_translations || step_ == step::map_object || step_ == step::create;
}

void object_operation::end_in_doubt(status outcome) {
  using state = object_record::phase;
  const bool wanted = outcome_so_far_.ok();
  object_->state = step_ == step::create    ? state::doubtful_creation
                   : step_ != step::destroy ? state::doubtful_change
                   : wanted                 ? state::doubtful_destruction
                                            : state::doubtful_unwinding;
  finish(outcome);
}

bool object_operation::command_ended(status outcome) {
  object_record& object = *object_;
  switch (step_) {
    case step::modify:
      finish(outcome);
      return true;
    case step::destroy: {
      if (outcome.ok()) {
        object.exists = false;
        return false;
      }
      // Refused: it is still there, its owner may try again. What nobody owns waits for a reset.
      const bool wanted = outcome_so_far_.ok();
      object.state = wanted ? object_record::phase::live : object_record::phase::lost;
      finish(wanted ? outcome : outcome_so_far_);
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
  if (object_ != nullptr) object_->under_change = false;
  if (finish_ != nullptr) finish_(*this, outcome);
  --owner_->operations_;
  complete(outcome);
}

void object_operation::on_command(operation& op, void* self) noexcept {
  static_cast<object_operation*>(self)->advance(op.outcome());
}

void object_operation::on_request(operation& op, void* self) noexcept {
  static_cast<object_operation*>(self)->advance(op.outcome());
}

void object_operation::on_cancel(operation&, void* self) noexcept {
  auto& op = *static_cast<object_operation*>(self);
  switch (op.step_) {
    case step::map_translations:
    case step::map_object:
      return op.request_.cancel();
    case step::create:
    case step::modify:
      return op.command_ != nullptr ? op.command_->cancel() : void();
    case step::destroy:
      return op.outcome_so_far_.ok() ? op.destroy_.cancel() : void();
    default:
      return;  // what is being undone is undone to the end
  }
}

void object_record::settled(lease&, const settlement& how, void* self) noexcept {
  auto& object = *static_cast<object_record*>(self);
  if (object.at_risk()) return;
  verbs& owner = *object.owner;
  if (how.by_reset) return owner.release(object);
  const bool done = how.answer.ok();
  switch (object.state) {
    case phase::doubtful_creation:
      object.exists = done;
      return owner.want_back(object);
    case phase::doubtful_unwinding:
      object.exists = !done;
      return owner.want_back(object);
    case phase::doubtful_destruction:
      if (!done) {
        object.state = phase::live;
        if (object.group == context_group::qp) static_cast<queue_pair&>(object).open_queues();
        return;
      }
      object.exists = false;
      return owner.want_back(object);
    case phase::doubtful_change:
      object.state = phase::live;
      return;
    default:
      return;
  }
}

}  // namespace freehca
