// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include <freehca/model/environment.hpp>

namespace freehca::model {

/// All work that the adapter does by itself: functions due at a time, run in order of time and, at the
/// same time, of scheduling. Never runs anything from inside at(): only from run_due().
class scheduler {
 public:
  using work = std::function<void()>;
  /// Names a scheduled function for cancel(); value-initialised: none.
  struct ticket {
    std::uint64_t due = 0, sequence = 0;
    explicit operator bool() const { return sequence != 0; }
  };

  explicit scheduler(environment& surroundings) : environment_(surroundings) {}

  std::uint64_t now() { return environment_.now(); }
  ticket at(std::uint64_t due, work what) { return add(due, std::move(what), reason::time); }
  ticket soon(work what) { return add(now(), std::move(what), reason::inside); }
  /// The same, for what a cable has brought.
  ticket arrived(work what) { return add(now(), std::move(what), reason::arrival); }
  /// The sum, or environment::never: a fault's time may be as long as its type holds.
  static std::uint64_t later(std::uint64_t time, std::uint64_t nanoseconds) {
    return nanoseconds < environment::never - time ? time + nanoseconds : environment::never;
  }
  ticket after(std::uint64_t nanoseconds, work what) {
    return at(later(now(), nanoseconds), std::move(what));
  }
  void cancel(ticket& t);
  /// Functions that soon() and arrived() were given and that have not run.
  std::size_t backlog() const { return count(reason::inside) + count(reason::arrival); }
  /// Those of arrived() alone.
  std::size_t arrivals() const { return count(reason::arrival); }

  /// Runs what is due now, at most `limit` functions, then arms the timer for the rest.
  void run_due(unsigned limit);
  /// Forgets everything (reset).
  void clear();
  /// Forgets everything, and takes nothing more until clear().
  void halt();

 private:
  enum class reason : std::uint8_t { time, inside, arrival };
  struct entry {
    work what;
    reason why;
  };
  ticket add(std::uint64_t due, work what, reason why);
  std::size_t& count(reason why) { return counts_[static_cast<std::size_t>(why)]; }
  std::size_t count(reason why) const { return counts_[static_cast<std::size_t>(why)]; }
  void arm();
  environment& environment_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, entry> pending_;
  std::array<std::size_t, 3> counts_{};  ///< by reason
  std::uint64_t next_sequence_ = 1;
  std::uint64_t armed_ = environment::never;
  bool running_ = false, halted_ = false;
};

}  // namespace freehca::model
