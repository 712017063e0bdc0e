// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/list.hpp>

namespace freehca {

void list_node::insert_before(list_node& place) {
  FREEHCA_ASSERT(!linked());
  next_ = &place;
  previous_ = place.previous_;
  place.previous_->next_ = this;
  place.previous_ = this;
}

void list_node::unlink() {
  if (!linked()) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  next_ = previous_ = nullptr;
}

void list_node::unlink_all() {
  while (next_ != this) next_->unlink();
}

void list_node::move_all(list_node& from, list_node& place) {
  if (from.next_ == &from) return;
  list_node &first = *from.next_, &last = *from.previous_;
  first.previous_ = place.previous_;
  place.previous_->next_ = &first;
  last.next_ = &place;
  place.previous_ = &last;
  from.next_ = from.previous_ = &from;
}

}  // namespace freehca
