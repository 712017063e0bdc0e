// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <concepts>
#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::conformance {

/// What an adapter did when it was asked: one value, which can be compared and said in words.
class answer {
 public:
  enum class kind : std::uint8_t {
    nothing,     ///< what was waited for did not come
    command,     ///< the status of a command
    completion,  ///< how a work request ended
    event,       ///< an asynchronous event
    state,       ///< of a queue pair
    statement,   ///< something holds, or does not
    trouble,     ///< driver or transport ended it: the adapter cannot be asked on
  };

  constexpr answer() = default;
  constexpr answer(layouts::command_status s)
      : answer(kind::command, static_cast<std::uint32_t>(s)) {}
  constexpr answer(queues::completion_status s)
      : answer(kind::completion, static_cast<std::uint32_t>(s)) {}
  constexpr answer(layouts::event_type t) : answer(kind::event, static_cast<std::uint32_t>(t)) {}
  constexpr answer(layouts::qp_state s) : answer(kind::state, static_cast<std::uint32_t>(s)) {}
  /// What the firmware said, or that it said nothing that can be compared.
  constexpr answer(status s)
      : answer(s.ok()                        ? answer(layouts::command_status::ok)
               : s.who() == origin::firmware ? answer(kind::command, s.code())
                                             : answer(kind::trouble, 0)) {
    trouble_ = what_ == kind::trouble ? s : status();
  }
  static constexpr answer holds(bool yes) { return {kind::statement, yes ? 1u : 0u}; }

  /// The same of what a row needs first, and did not get: it equals no expectation. Trouble stays
  /// what it is.
  constexpr answer unprepared() const {
    answer a = *this;
    a.prepared_ = is_trouble();
    return a;
  }

  constexpr kind what() const { return what_; }
  constexpr bool is_prepared() const { return prepared_; }
  constexpr bool is_ok() const { return *this == answer(layouts::command_status::ok); }
  /// Of the enumeration that what() selects.
  constexpr std::uint32_t value() const { return value_; }
  /// No answer of the firmware: whether the adapter may be asked on, nobody knows.
  constexpr bool is_trouble() const { return what_ == kind::trouble; }
  /// With kind::trouble.
  constexpr status trouble() const { return trouble_; }
  friend constexpr bool operator==(const answer&, const answer&) = default;

 private:
  constexpr answer(kind what, std::uint32_t value) : what_(what), value_(value) {}

  kind what_ = kind::nothing;
  bool prepared_ = true;
  std::uint32_t value_ = 0;
  status trouble_;
};

/// In words: "bad index", "completes with remote access error".
text_writer& operator<<(text_writer& to, const answer& a);

/// What a row's sources say that comes of it: mostly one answer.
class expectation {
 public:
  template <class T>
  requires std::convertible_to<T, answer>
  constexpr expectation(T one) : first_(one), second_(one) {}
  /// The sources say that it is refused, and none by which status.
  static constexpr expectation refused() {
    expectation e = answer(layouts::command_status::bad_parameter);
    e.any_refusal_ = true;
    return e;
  }
  /// The sources leave two answers.
  static constexpr expectation either(answer one, answer other) {
    expectation e = one;
    e.second_ = other;
    return e;
  }

  constexpr bool is_one() const { return !any_refusal_ && first_ == second_; }
  /// Of an event, or of anything else that is_one().
  constexpr answer first() const { return first_; }
  constexpr bool met_by(const answer& a) const {
    if (any_refusal_) return a.what() == answer::kind::command && a.is_prepared() && !a.is_ok();
    return a == first_ || a == second_;
  }
  /// In words: those of its answers.
  friend text_writer& operator<<(text_writer& to, const expectation& e) {
    if (e.any_refusal_) return to << "refused, by whatever status";
    to << e.first_;
    return e.is_one() ? to : to << ", or " << e.second_;
  }

 private:
  answer first_, second_;
  bool any_refusal_ = false;
};

}  // namespace freehca::conformance
