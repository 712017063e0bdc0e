// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <freehca/model/environment.hpp>

#include "basis/task.hpp"
#include "basis/work_account.hpp"

namespace freehca::model {

/// All work that the adapter does by itself: functions due at a time, run in order of time and, at
/// the same time, of scheduling. Never runs anything from inside at(): only from run_due().
///
/// A turn is bounded by what its functions cost (work_account), and shared: each port has a share
/// of its own, and so has the adapter (commands). While more than one has work due, none gets a
/// slice ahead of another. What a function schedules belongs to the same share unless a port is
/// named.
class scheduler {
 public:
  using work = task;
  /// Names a scheduled function for cancel(); value-initialised: none.
  struct ticket {
    std::uint64_t due = 0, sequence = 0;
    unsigned share = 0;
    explicit operator bool() const { return sequence != 0; }
  };

  scheduler(environment& surroundings, work_account& account)
      : environment_(surroundings), account_(account) {}

  std::uint64_t now() { return environment_.now(); }
  work_account& account() { return account_; }
  ticket at(std::uint64_t due, work what) {
    return add(due, std::move(what), reason::time, share_);
  }
  ticket soon(work what) { return add(at_once(), std::move(what), reason::inside, share_); }
  /// The same, of the share of port `port` (1-based; any other number: the adapter's).
  ticket soon(unsigned port, work what) {
    return add(at_once(), std::move(what), reason::inside, share_of(port));
  }
  /// The same, for what a cable has brought.
  ticket arrived(unsigned port, work what) {
    return add(at_once(), std::move(what), reason::arrival, share_of(port));
  }
  /// The sum, or environment::never: a fault's time may be as long as its type holds.
  static std::uint64_t later(std::uint64_t time, std::uint64_t nanoseconds) {
    return nanoseconds < environment::never - time ? time + nanoseconds : environment::never;
  }
  ticket after(std::uint64_t nanoseconds, work what) {
    return at(later(now(), nanoseconds), std::move(what));
  }
  void cancel(ticket& t);

  /// Functions that soon() and arrived() were given and that have not run, and what is set aside.
  std::size_t backlog() const { return count(reason::inside) + count(reason::arrival) + aside_; }
  std::size_t aside() const { return aside_; }
  /// Those of arrived() alone, and what is set aside.
  std::size_t arrivals() const { return count(reason::arrival) + aside_; }
  /// Somebody keeps packets in a queue of his own, one more or one less.
  void set_aside() { ++aside_; }
  void taken_up(std::size_t packets = 1) { aside_ -= packets; }

  /// What is in `container` is no longer wanted: it is given back to the host piece by piece, a
  /// slice in each turn, since a guest can make it large. Leaves `container` empty.
  template <class Container>
  void discard(Container& container) {
    auto all = std::make_shared<Container>(std::move(container));
    container = Container{};
    discard_by([all] {
      if (!all->empty()) all->erase(all->begin());
      return !all->empty();
    });
  }
  /// The same for what is not a container: `one` gives back a piece, and false with the last.
  void discard_by(std::function<bool()> one);

  /// Runs what is due until the account says that the turn is over, then arms the timer for the
  /// rest.
  void run_due();
  /// Forgets everything (reset).
  void clear();
  /// Forgets everything, and takes nothing more until clear().
  void halt();

  std::uint64_t turns() const { return turns_; }
  /// Those that ended with work still due.
  std::uint64_t turns_cut() const { return turns_cut_; }

 private:
  static constexpr unsigned shares = 3;  ///< the adapter, port 1, port 2
  enum class reason : std::uint8_t { time, inside, arrival };
  struct entry {
    work what;
    reason why;
  };
  /// When a function is due, and the number that orders those of one time.
  using place = std::pair<std::uint64_t, std::uint64_t>;
  static constexpr place nowhere{environment::never, ~std::uint64_t{0}};

  /// Of soon() and arrived(), in the order of their places: the clock never goes back.
  class line {
   public:
    bool empty() const { return first_ == all_.size(); }
    const place& first() const { return all_[first_].where; }
    const place& last() const { return all_.back().where; }
    void add(place where, entry what) { all_.push_back({where, std::move(what)}); }
    entry take_first();
    std::optional<reason> remove(place where);

   private:
    struct item {
      place where;
      entry what;
    };
    /// The memory of those that have gone is used again. So a line that is never long takes none.
    std::vector<item> all_;
    std::size_t first_ = 0;
  };

  /// The functions of a share.
  struct queue {
    std::map<place, entry> later;
    line at_once;

    place first() const {
      const place at = at_once.empty() ? nowhere : at_once.first();
      return later.empty() ? at : std::min(at, later.begin()->first);
    }
    entry take_first();
    void add(place where, entry what);
    /// The reason of the function that was taken out, if it was there.
    std::optional<reason> remove(place where);
  };

  /// The clock is read once for all that follows from what is due.
  std::uint64_t at_once() { return running_ ? until_ : now(); }
  static unsigned share_of(unsigned port) { return port < shares ? port : 0; }
  ticket add(std::uint64_t due, work what, reason why, unsigned share);
  std::size_t& count(reason why) { return counts_[static_cast<std::size_t>(why)]; }
  std::size_t count(reason why) const { return counts_[static_cast<std::size_t>(why)]; }
  /// When the first of all is due.
  std::uint64_t first_due() const;
  /// Whose turn it is, of those that have something due.
  std::optional<unsigned> next_share(std::uint64_t until) const;
  void arm();
  /// Gives back what was discarded, as far as a slice goes.
  void give_back();

  environment& environment_;
  work_account& account_;
  std::array<queue, shares> pending_;
  std::array<work_account::units, shares> used_{};  ///< in the turn at hand
  unsigned share_ = 0;                              ///< of the function that runs
  std::array<std::size_t, 3> counts_{};             ///< by reason
  std::size_t aside_ = 0;
  std::deque<std::function<bool()>> discarded_;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t armed_ = environment::never;
  std::uint64_t turns_ = 0, turns_cut_ = 0;
  std::uint64_t until_ = 0;  ///< when the clock was read, while running
  bool running_ = false, halted_ = false, giving_back_ = false;
};

}  // namespace freehca::model
