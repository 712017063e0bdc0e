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

/// An operation of several parts, which are operations too and run one after the other. A part that
/// fails, or cancel(), or a deadline of the whole that passes: what the parts before have brought
/// is taken back, and then it ends. What the firmware has not answered is taken back by the adapter
/// after the late answer, or by its reset. One that is destroyed under way ends in the same way;
/// what its parts have brought is then the adapter's to take back.
///
/// A class with parts calls drop() in its destructor. While dropped() its advancer begins nothing.
class sequence : public operation {
 public:
  /// As of an operation, and of one that is under way too.
  void set_deadline(std::uint64_t at);
  /// The same, for `co_await hca.next(c).until(deadline)`.
  sequence& until(std::uint64_t at) {
    set_deadline(at);
    return *this;
  }

  /// co_await gives the outcome, also of one that an expression makes and starts.
  auto operator co_await() noexcept { return operation_awaiter<sequence>{*this}; }

 protected:
  friend class adapter;
  /// A part has ended so.
  using advancer = void (*)(sequence& self, status outcome) noexcept;

  sequence() = default;

  /// From here to finish() it is under way.
  void begin_in(adapter& owner, advancer next);
  /// From here on it waits in the place's list, for the adapter to end it.
  void wait_in(adapter& owner, place& where, canceller at_cancel);
  /// Ends at the next poll(), without having done anything.
  void refuse(adapter& owner, status why);
  /// Makes `p` startable; its end goes to the advancer.
  template <class Part>
  Part& part(Part& p) {
    p.restart();
    p.then(&part_ended, this);
    part_ = &p;
    return p;
  }
  /// What was told to end early is to be undone, and that is not to be stopped.
  void begin_undoing(status why) {
    undoing_ = true;
    why_ = why;
  }
  bool undoing() const { return undoing_; }
  status why() const { return why_; }
  void finish(status outcome);
  adapter& owner() const { return *owner_; }

 private:
  static void part_ended(operation& p, void* self) noexcept;
  static void on_cancel(operation& op, void* self) noexcept;

  adapter* owner_ = nullptr;
  operation* part_ = nullptr;
  advancer advance_ = nullptr;
  status why_;
  bool undoing_ = false;
};

/// A sequence that brings something.
template <class T>
class bringing : public sequence {
 public:
  bringing& until(std::uint64_t at) {
    set_deadline(at);
    return *this;
  }
  /// What it has brought, or why it did not; once done().
  result<T> value() const { return outcome().ok() ? result<T>(value_) : result<T>(outcome()); }

  /// co_await gives value().
  auto operator co_await() noexcept { return operation_awaiter<bringing>{*this}; }

 protected:
  void bring(const T& value) { value_ = value; }
  const T& brought() const { return value_; }

 private:
  T value_{};
};

}  // namespace freehca::easy

// FREEHCA_GET(const auto x, expression): x is the value of the result that `expression` gives, or
// the function ends with its status.
#define FREEHCA_JOINED_NOW(a, b) a##b
#define FREEHCA_JOINED(a, b) FREEHCA_JOINED_NOW(a, b)
// `declaration` declares. NOLINTBEGIN(bugprone-macro-parentheses)
#define FREEHCA_GET(declaration, expression)                        \
  const auto FREEHCA_JOINED(freehca_got_, __LINE__) = (expression); \
  if (!FREEHCA_JOINED(freehca_got_, __LINE__).ok())                 \
    return FREEHCA_JOINED(freehca_got_, __LINE__).error();          \
  declaration = FREEHCA_JOINED(freehca_got_, __LINE__).value()
// NOLINTEND(bugprone-macro-parentheses)
