// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/assert.hpp>

namespace freehca {

namespace detail {
/// The pointers of an element, and of the head of a list. In an empty list, the head points to
/// itself. A list_links needs no destructor.
struct list_links {
  constexpr list_links() = default;
  /// The head of an empty list. Not inline, since lists are members of large objects.
  struct head_of_list {};
  explicit list_links(head_of_list);

  void insert_before(list_links& place);
  void unlink();
  /// Moves all elements of the list with the head `from` ahead of `place`, which is in another
  /// list.
  static void move_all(list_links& from, list_links& place);
  /// Removes all elements from the list whose head this is.
  void unlink_all();

  list_links* next_ = nullptr;
  list_links* previous_ = nullptr;
};
}  // namespace detail

/// A place in one intrusive doubly linked list. An element removes itself from its list in constant
/// time, and does so when it is destroyed. An element that is in two lists at a time derives from
/// two places with different `Use`.
template <class Use>
class list_place : private detail::list_links {
 public:
  list_place() = default;
  list_place(const list_place&) = delete;
  list_place& operator=(const list_place&) = delete;
  ~list_place() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink() { list_links::unlink(); }

 private:
  template <class T, class U>
  friend class list;
};
using list_node = list_place<void>;

/// A first-in-first-out list of T, which derives from list_place<Use>. A list owns nothing. When a
/// list is destroyed, its elements are in no list.
template <class T, class Use = void>
class list {
 public:
  list() = default;
  list(const list&) = delete;
  list& operator=(const list&) = delete;
  ~list() { head_.unlink_all(); }

  bool empty() const { return head_.next_ == &head_; }
  T* front() const { return empty() ? nullptr : element_at(head_.next_); }
  T* back() const { return empty() ? nullptr : element_at(head_.previous_); }
  void push_back(T& element) { links_of(element).insert_before(head_); }
  void push_front(T& element) { links_of(element).insert_before(*head_.next_); }
  /// Inserts `element` ahead of `place`, an element of this list.
  void insert(T& place, T& element) { links_of(element).insert_before(links_of(place)); }
  /// Moves all elements of `from` behind those of this list, in their order, in constant time.
  void take_all(list& from) { detail::list_links::move_all(from.head_, head_); }
  T* pop_front() {
    T* first = front();
    if (first != nullptr) links_of(*first).unlink();
    return first;
  }
  /// The element behind `element`; null behind the last.
  T* next(T& element) {
    detail::list_links* const n = links_of(element).next_;
    return n == &head_ ? nullptr : element_at(n);
  }
  /// The element ahead of `element`; null ahead of the first.
  T* previous(T& element) const {
    detail::list_links* const p = links_of(element).previous_;
    return p == &head_ ? nullptr : element_at(p);
  }

 private:
  static detail::list_links& links_of(T& element) { return static_cast<list_place<Use>&>(element); }
  static T* element_at(detail::list_links* links) {
    return static_cast<T*>(static_cast<list_place<Use>*>(links));
  }

  detail::list_links head_{detail::list_links::head_of_list{}};
};

}  // namespace freehca
