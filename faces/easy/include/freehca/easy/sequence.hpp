// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/operation.hpp>
#include <freehca/hal/reactor.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/easy/objects.hpp>

namespace freehca::easy {

struct connection;

/// The functions that all operations of an easy::adapter have. `Self` is the class of the operation
/// and `Base` its base, which has reactor().
template <class Self, class Base>
class facade_operation : public Base {
 public:
  /// Like operation::set_deadline(), but also has an effect on an operation that is under way.
  void set_deadline(std::uint64_t at) {
    if (!this->under_way()) operation::set_deadline(at);
    else if (this->where() != operation::phase::ended) this->reactor().watch(*this, at);
  }
  /// The same, for `co_await hca.next(c).until(deadline)`.
  Self& until(std::uint64_t at) {
    set_deadline(at);
    return static_cast<Self&>(*this);
  }
  /// co_await gives value(), or the outcome of an operation without a value(). The operation may be
  /// a temporary object.
  auto operator co_await() noexcept { return operation_awaiter<Self>{static_cast<Self&>(*this)}; }
};

/// An operation of several parts. If a part fails, if the sequence is cancelled, or if its deadline
/// passes, the sequence undoes the parts that have succeeded and then ends. If the firmware has not
/// answered a part, the verbs object takes back the objects of that part after the late answer, or
/// by a reset. If a sequence is destroyed while it is under way, the easy::adapter undoes the parts
/// that have succeeded.
class sequence : public stepper {
 protected:
  friend class adapter;

  sequence() = default;

  /// Starts the sequence. It is under way until complete().
  void begin_in(adapter& owner, advancer next);
  /// The same, for a sequence that works on a connection.
  void begin_on(adapter& owner, connection_object& of, advancer next);
  /// Starts an operation that the adapter ends.
  void begin_waiting(adapter& owner, canceller at_cancel);
  /// Ends the sequence with `why` at the next poll(). The sequence does nothing else.
  void refuse(adapter& owner, status why);
  /// Returns the object of a connection on which no other sequence works, or refuses the sequence
  /// and returns null.
  connection_object* claim(adapter& owner, const connection& of);
  /// Returns the object of the connection on which the sequence works; null if it is gone.
  connection_object* found() const;
  /// Finishes the sequence. It works on its connection no longer.
  void end_work(status outcome);
  adapter& owner() const { return *owner_; }
  freehca::reactor& reactor() const;

  handle<connection_object> subject{};

 private:
  adapter* owner_ = nullptr;
};

/// A sequence with a result.
template <class Self, class T, class Base>
class bringing : public facade_operation<Self, Base> {
 public:
  /// The result, or the reason of the failure. Valid once done().
  result<T> value() const {
    return this->outcome().ok() ? result<T>(result_value) : result<T>(this->outcome());
  }

 protected:
  T result_value{};
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
