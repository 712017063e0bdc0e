// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <coroutine>
#include <cstdint>

#include <freehca/hal/operation.hpp>
#include <freehca/hal/status.hpp>

namespace freehca::easy {

class adapter;
struct place;

/// An operation of an easy::adapter. If a part fails, if the sequence is cancelled, or if its
/// deadline passes, the sequence undoes the parts that have succeeded and then ends. If the
/// firmware has not answered a part, the easy::adapter takes back the resources of that part after
/// the late answer, or by a reset. If a sequence is destroyed while it is under way, the
/// easy::adapter undoes the parts that have succeeded.
class sequence : public stepper {
 public:
  /// Like operation::set_deadline(), but also has an effect on a sequence that is under way.
  void set_deadline(std::uint64_t at);
  /// The same, for `co_await hca.next(c).until(deadline)`.
  sequence& until(std::uint64_t at) {
    set_deadline(at);
    return *this;
  }

  /// co_await gives the outcome. The sequence may be a temporary object.
  auto operator co_await() noexcept { return operation_awaiter<sequence>{*this}; }

 protected:
  friend class adapter;

  sequence() = default;

  /// Starts the sequence. It is under way until complete().
  void begin_in(adapter& owner, advancer next);
  /// Starts the sequence and puts it into the list of the place. The adapter ends it.
  void wait_in(adapter& owner, place& where, canceller at_cancel);
  /// Ends the sequence with `why` at the next poll(). The sequence does nothing else.
  void refuse(adapter& owner, status why);
  adapter& owner() const { return *owner_; }
  /// Finishes the sequence. It works on its place no longer.
  void end_work(status outcome);

  place* place_ = nullptr;  // on which the sequence works, if it is of one place

 private:
  adapter* owner_ = nullptr;
};

/// A sequence with a result.
template <class T, class Base = sequence>
class bringing : public Base {
 public:
  bringing& until(std::uint64_t at) {
    this->set_deadline(at);
    return *this;
  }
  /// The result, or the reason of the failure. Valid once done().
  result<T> value() const {
    return this->outcome().ok() ? result<T>(value_) : result<T>(this->outcome());
  }

  /// co_await gives value().
  auto operator co_await() noexcept { return operation_awaiter<bringing>{*this}; }

 protected:
  void bring(const T& value) { value_ = value; }
  const T& brought() const { return value_; }

 private:
  T value_{};
};

}  // namespace freehca::easy

// FREEHCA_GET(const auto x, expression): if the result of `expression` is ok, x is its value.
// Otherwise the function returns the status of the result.
#define FREEHCA_JOINED_NOW(a, b) a##b
#define FREEHCA_JOINED(a, b) FREEHCA_JOINED_NOW(a, b)
// `declaration` is a declaration. NOLINTBEGIN(bugprone-macro-parentheses)
#define FREEHCA_GET(declaration, expression)                        \
  const auto FREEHCA_JOINED(freehca_got_, __LINE__) = (expression); \
  if (!FREEHCA_JOINED(freehca_got_, __LINE__).ok())                 \
    return FREEHCA_JOINED(freehca_got_, __LINE__).error();          \
  declaration = FREEHCA_JOINED(freehca_got_, __LINE__).value()
// NOLINTEND(bugprone-macro-parentheses)
