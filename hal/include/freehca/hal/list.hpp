// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/assert.hpp>

namespace freehca {

/// A place in one intrusive doubly linked list. An element of a list removes itself in constant
/// time, and does so when it is destroyed.
class list_node {
 public:
  list_node() = default;
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;
  ~list_node() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink();

 private:
  template <class T>
  friend class list;
  void insert_before(list_node& place);
  /// Puts the elements of one list ahead of `place`; each list is given by its head.
  static void move_all(list_node& from, list_node& place);
  /// Takes all elements out of the list whose head this is.
  void unlink_all();

  list_node* next_ = nullptr;
  list_node* previous_ = nullptr;
};

/// A first-in-first-out list of T, which derives from list_node. Owns nothing: its elements are in
/// no list when it is destroyed.
template <class T>
class list {
 public:
  list() { head_.next_ = head_.previous_ = &head_; }
  list(const list&) = delete;
  list& operator=(const list&) = delete;
  ~list() { head_.unlink_all(); }

  bool empty() const { return head_.next_ == &head_; }
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  void push_back(T& element) { element.list_node::insert_before(head_); }
  void push_front(T& element) { element.list_node::insert_before(*head_.next_); }
  /// Ahead of `place`, an element of this list.
  void insert(T& place, T& element) { element.list_node::insert_before(place); }
  /// Puts all elements of `from` behind those of this list, in their order, in constant time.
  void take_all(list& from) { list_node::move_all(from.head_, head_); }
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
  list_node head_;
};

}  // namespace freehca
