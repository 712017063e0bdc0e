// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/assert.hpp>

namespace freehca {

/// A place in one intrusive doubly linked list. An element of a list removes itself in constant
/// time; a destroyed element must not be in one.
class list_node {
 public:
  list_node() = default;
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;
  ~list_node() { FREEHCA_ASSERT(!linked()); }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class T>
  friend class list;
  list_node* next_ = nullptr;
  list_node* previous_ = nullptr;
};

/// A first-in-first-out list of T, which derives from list_node. Owns nothing.
template <class T>
class list {
 public:
  list() { head_.next_ = head_.previous_ = &head_; }
  list(const list&) = delete;
  list& operator=(const list&) = delete;
  ~list() {
    FREEHCA_ASSERT(empty());
    head_.next_ = head_.previous_ = nullptr;
  }

  bool empty() const { return head_.next_ == &head_; }
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  void push_back(T& element) { insert_before(head_, element); }
  void push_front(T& element) { insert_before(*head_.next_, element); }
  /// Ahead of `place`, an element of this list.
  void insert(T& place, T& element) { insert_before(place, element); }
  /// Puts all elements of `from` behind those of this list, in their order, in constant time.
  void take_all(list& from) {
    if (from.empty()) return;
    list_node &first = *from.head_.next_, &last = *from.head_.previous_;
    first.previous_ = head_.previous_;
    head_.previous_->next_ = &first;
    last.next_ = &head_;
    head_.previous_ = &last;
    from.head_.next_ = from.head_.previous_ = &from.head_;
  }
  T* pop_front() {
    T* first = front();
    if (first != nullptr) static_cast<list_node*>(first)->unlink();
    return first;
  }
  /// The element behind `element`; null behind the last.
  T* next(T& element) {
    list_node* n = static_cast<list_node&>(element).next_;
    return n == &head_ ? nullptr : static_cast<T*>(n);
  }

 private:
  static void insert_before(list_node& place, list_node& node) {
    FREEHCA_ASSERT(!node.linked());
    node.next_ = &place;
    node.previous_ = place.previous_;
    place.previous_->next_ = &node;
    place.previous_ = &node;
  }
  list_node head_;
};

}  // namespace freehca
