// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/list.hpp>

namespace freehca::detail {

list_links::list_links(head_of_list) : next_(this), previous_(this) {}

void list_links::insert_before(list_links& place) {
  FREEHCA_ASSERT(next_ == nullptr);
  next_ = &place;
  previous_ = place.previous_;
  place.previous_->next_ = this;
  place.previous_ = this;
}

void list_links::unlink() {
  if (next_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  next_ = previous_ = nullptr;
}

void list_links::unlink_all() {
  while (next_ != this) next_->unlink();
}

void list_links::move_all(list_links& from, list_links& place) {
  if (from.next_ == &from) return;
  list_links &first = *from.next_, &last = *from.previous_;
  first.previous_ = place.previous_;
  place.previous_->next_ = &first;
  last.next_ = &place;
  place.previous_ = &last;
  from.next_ = from.previous_ = &from;
}

}  // namespace freehca::detail
