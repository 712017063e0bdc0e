// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/replace_memory_region.hpp>

#include "exchange.hpp"

namespace freehca {

void replace_memory_region::start(verbs& owner, mr_handle which,
                                  const memory_region_attributes& to) {
  if (!startable()) return;
  owner_ = &owner;
  which_ = which;
  spare_ = {};
  put_ = object_record::none;
  const memory_region* const region = owner.find(which);
  status s = verbs::usable(region);
  if (s.ok() && region->what->identity != &identity_of<memory_region>)
    s = driver_error::unsupported;
  if (begin_checked(*owner.reactor_, s, &advance)) part(create_).start(owner, to);
}

void replace_memory_region::advance(stepper& self, status outcome) noexcept {
  static_cast<replace_memory_region&>(self).ended(outcome);
}

void replace_memory_region::ended(status outcome) {
  using enum object_record::phase;
  if (!spare_) {
    if (!outcome.ok()) return complete(outcome);
    spare_ = create_.made();
    memory_region* const region = owner_->find(which_);
    // The caller may have destroyed the region meanwhile.
    const status s = verbs::usable(region);
    if (s.ok()) {
      exchange();
      put_ = region->number;
    } else {
      begin_undoing(s);
    }
    part(destroy_).start(*owner_, spare_);
    return;
  }
  memory_region* const spare = owner_->find(spare_);
  // After a reset there is no region left.
  if (outcome.ok() || spare == nullptr) return complete(undoing() ? why() : outcome);
  // The caller has no handle of the spare region. The verbs object destroys it after a refusal.
  if (spare->state == doubtful_destruction) spare->state = doubtful_unwinding;
  if (spare->state != live || undoing() || dropped()) {
    if (spare->state == live) owner_->want_back(*spare, reclaimable);
    return complete(undoing() ? why() : outcome);
  }
  begin_undoing(outcome);
  const memory_region* const region = owner_->find(which_);
  if (verbs::usable(region).ok()) {
    if (region->number != put_) {
      // Another operation has replaced the region again.
      owner_->want_back(*spare, reclaimable);
      return complete(why());
    }
    exchange();
  }
  part(destroy_).start(*owner_, spare_);
}

/// The two records exchange what the device knows. No step works on either of them.
void replace_memory_region::exchange() {
  memory_region &a = *owner_->find(which_), &b = *owner_->find(spare_);
  freehca::exchange(a.number, b.number);
  freehca::exchange(a.device_number, b.device_number);
  freehca::exchange(a.translations, b.translations);
  freehca::exchange(a.translation_count, b.translation_count);
  freehca::exchange(a.key, b.key);
  freehca::exchange(a.mapped, b.mapped);
  freehca::exchange(a.mapped_for_reading, b.mapped_for_reading);
  // The device may have no entry of the region (change_memory_region).
  freehca::exchange(a.state, b.state);
  for (unsigned i = 0; i < object_record::most_uses; ++i) freehca::exchange(a.uses[i], b.uses[i]);
  set_translations_at_risk(a);
  set_translations_at_risk(b);
}

}  // namespace freehca
