// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/change_memory_region.hpp>

namespace freehca {

using namespace layouts;

namespace {

// While a change of the domain is under way, the region refers to both domains.
constexpr unsigned present_domain = 0, next_domain = 1;

/// Ends the reference to the domain that the region does not have after the change.
void settle_domain(memory_region& region, bool given) {
  object_record*& next = region.uses[next_domain];
  if (next == nullptr) return;
  object_record*& present = region.uses[present_domain];
  --(given ? present : next)->users;
  if (given) present = next;
  next = nullptr;
}

void settle_taking(memory_region& region, bool done) {
  if (done) region.state = object_record::phase::blank;
  settle_domain(region, false);
}

void settle_giving(memory_region& region, bool done) {
  // A reset has released the region.
  if (region.state != object_record::phase::live) return;
  if (!done) region.state = object_record::phase::blank;
  settle_domain(region, done);
}

}  // namespace

void change_memory_region::command_on_region::start(memory_region& region, command& c, bool gives) {
  region.settle = gives ? &settle_giving : &settle_taking;
  start_command(region, step::modify, c, &finished);
}

void change_memory_region::command_on_region::finished(object_operation& op,
                                                       status outcome) noexcept {
  auto& region = static_cast<memory_region&>(static_cast<command_on_region&>(op).object());
  if (region.in_doubt()) return;
  // The entry is given next, with the domain that is next.
  if (outcome.ok() && region.settle == &settle_taking) region.state = object_record::phase::blank;
  else region.settle_change(outcome.ok());
}

void change_memory_region::start(verbs& owner, mr_handle which, pd_handle domain,
                                 const memory_access& access) {
  if (!startable()) return;
  using enum object_record::phase;
  memory_region* const region = owner.find(which);
  protection_domain* const next = owner.find(domain);
  status s = verbs::usable(region);
  if (s.ok() && region->what->identity != &identity_of<memory_region>)
    s = driver_error::unsupported;
  if (s.ok() && region->state == blank) s = driver_error::bad_state;
  if (s.ok() && domain) s = verbs::usable(next);
  if (s.ok()) s = access.write_to(give_.input, owner.refused());
  if (s.ok() && access.local_write && region->mapped.bytes != 0 && region->mapped_for_reading)
    s = driver_error::unsupported;
  if (!begin_checked(*owner.reactor_, s, &advance)) return;
  owner_ = &owner;
  which_ = which;
  access_ = access;
  gives_ = false;
  if (next != nullptr && next != region->uses[present_domain]) region->use(*next);
  take_.aim(region->number);
  part(step_).start(*region, take_, false);
}

void change_memory_region::advance(stepper& stepper_of, status outcome) noexcept {
  auto& self = static_cast<change_memory_region&>(stepper_of);
  memory_region* const region = self.owner_->find(self.which_);
  if (outcome.ok() && !self.gives_ && !self.dropped()) return self.give(*region);
  // The first command was carried out, and the operation was destroyed before the second.
  if (outcome.ok() && !self.gives_) settle_domain(*region, false);
  self.complete(outcome);
}

void change_memory_region::give(memory_region& region) {
  gives_ = true;
  const object_record* const next = region.uses[next_domain];
  image<mpt>& e = give_.input = take_.output;
  e.set<&mpt::status>(mpt_status::software);
  static_cast<void>(access_.write_to(e, owner_->refused()));
  if (next != nullptr) e.set<&mpt::pd>(next->number);
  give_.aim(region.number);
  part(step_).start(region, give_, true);
}

}  // namespace freehca
