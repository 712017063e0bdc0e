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
#include <string>
#include <utility>
#include <vector>

#include <freehca/model/environment.hpp>

#include "basis/adapter_clock.hpp"
#include "basis/work_account.hpp"
#include "basis/work_item.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// All work that the adapter does by itself: items that are due at a time. They run in the order of
/// their times. Items of the same time run in the order in which they were scheduled. Only
/// run_due() runs items. Parts of the adapter schedule items by a work_source.
///
/// A turn is bounded by what its items cost (work_account). Each port has a share of the turn, and
/// so has the adapter, for commands. While several shares have work due, none of them gets a slice
/// ahead of another. An item that another item schedules belongs to the same share unless a port is
/// named.
class scheduler {
 public:
  static constexpr unsigned shares = 3;  ///< the adapter, port 1, port 2

  /// Names a scheduled item for cancel(). Value-initialised, it names none.
  struct ticket {
    std::uint64_t due = 0, sequence = 0;
    unsigned share = 0;
    explicit operator bool() const { return sequence != 0; }

    using saved = saving::fields<&ticket::due, &ticket::sequence, &ticket::share>;
    const char* broken_invariant() const {
      return share < shares ? nullptr : "there is no such share";
    }
  };

  scheduler(environment& surroundings, adapter_clock& clock, work_account& account)
      : environment_(surroundings), clock_(clock), account_(account) {}

  std::uint64_t now() { return clock_.now(); }
  work_account& account() { return account_; }
  static std::uint64_t later(std::uint64_t time, std::uint64_t nanoseconds) {
    return adapter_clock::later(time, nanoseconds);
  }
  void cancel(ticket& t);

  /// The number of pending items that work_source::soon() and arrived() scheduled, and of packets
  /// that are set aside.
  std::size_t backlog() const { return count(reason::inside) + count(reason::arrival) + aside_; }
  std::size_t aside() const { return aside_; }
  /// The same without the items of soon().
  std::size_t arrivals() const { return count(reason::arrival) + aside_; }
  /// Counts the packets that parts of the adapter keep in queues of their own.
  void set_aside(std::size_t packets = 1) { aside_ += packets; }
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

  /// Calls f(receiver name, due, item) for each pending item, in the order of the shares and,
  /// within a share, of the times.
  template <class F>
  void each_pending(F f) const {
    for (const queue& q : pending_)
      q.each([&](const place& where, const entry& e) { f(name_of(e), where.first, e.what); });
  }

  /// Frees everything that was discarded, without a bound. Call before the state is written.
  void free_discarded();
  /// Arms the timer after a load.
  void arm_after_load();
  /// The pending items, and the counts of turns. A load refuses items of unknown parts.
  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);

  std::uint64_t turns() const { return turns_; }
  /// Those that ended with work still due.
  std::uint64_t turns_cut() const { return turns_cut_; }

 private:
  friend class work_source;

  enum class reason : std::uint8_t { time, inside, arrival };
  struct entry {
    work_item what;
    std::uint16_t receiver;  ///< index in receivers_
    reason why;
  };
  struct receiver {
    std::string name;
    work_receiver* part;
  };
  /// The time at which an item is due, and the number that orders the items of one time.
  using place = std::pair<std::uint64_t, std::uint64_t>;
  static constexpr place nowhere{environment::never, ~std::uint64_t{0}};

  /// The items of soon() and arrived(), in the order of their places: the clock never goes back.
  class line {
   public:
    bool empty() const { return first_ == all_.size(); }
    const place& first() const { return all_[first_].where; }
    const place& last() const { return all_.back().where; }
    void add(place where, entry what) { all_.push_back({where, std::move(what)}); }
    entry take_first();
    bool has(place where) const {
      return std::binary_search(all_.begin() + static_cast<std::ptrdiff_t>(first_), all_.end(),
                                item{where, {}},
                                [](const item& a, const item& b) { return a.where < b.where; });
    }
    std::optional<reason> remove(place where);
    template <class F>
    void each(F f) const {
      for (std::size_t i = first_; i < all_.size(); ++i) f(all_[i].where, all_[i].what);
    }

   private:
    struct item {
      place where;
      entry what;
    };
    /// The memory of items that have run is used again, so a line that is never long allocates
    /// nothing.
    std::vector<item> all_;
    std::size_t first_ = 0;
  };

  /// The items of a share.
  struct queue {
    std::map<place, entry> later;
    line at_once;

    place first() const {
      const place at = at_once.empty() ? nowhere : at_once.first();
      return later.empty() ? at : std::min(at, later.begin()->first);
    }
    entry take_first();
    void add(place where, entry what);
    bool has(place where) const { return later.contains(where) || at_once.has(where); }
    /// Calls f(place, entry) for each, in the order of the places.
    template <class F>
    void each(F f) const {
      auto timed = later.begin();
      at_once.each([&](const place& where, const entry& e) {
        for (; timed != later.end() && timed->first < where; ++timed)
          f(timed->first, timed->second);
        f(where, e);
      });
      for (; timed != later.end(); ++timed) f(timed->first, timed->second);
    }
    /// Returns the reason of the item that was removed, if it was there.
    std::optional<reason> remove(place where);
  };

  /// The clock is read once for all that follows from what is due.
  std::uint64_t at_once() { return running_ ? until_ : now(); }
  static unsigned share_of(unsigned port) { return port < shares ? port : 0; }
  std::uint16_t add_receiver(std::string name, work_receiver& part);
  const std::string& name_of(const entry& e) const { return receivers_[e.receiver].name; }
  ticket add(std::uint64_t due, std::uint16_t receiver, work_item&& what, reason why,
             unsigned share);
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
  adapter_clock& clock_;
  work_account& account_;
  std::vector<receiver> receivers_;
  std::array<queue, shares> pending_;
  std::array<work_account::units, shares> used_{};  ///< in the turn at hand
  unsigned share_ = 0;                              ///< of the item that runs
  std::array<std::size_t, 3> counts_{};             ///< by reason
  std::size_t aside_ = 0;
  std::deque<std::function<bool()>> discarded_;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t armed_ = environment::never;
  std::uint64_t turns_ = 0, turns_cut_ = 0;
  std::uint64_t until_ = 0;  ///< when the clock was read, while running
  bool running_ = false, halted_ = false, giving_back_ = false;

  template <class Archive>
  void transfer_parts(Archive& archive);
  template <class Archive>
  void transfer_queue(Archive& archive, unsigned share);
  std::optional<std::uint16_t> receiver_named(const std::string& name) const;

 public:
  static constexpr saving::unsaved_member unsaved[] = {
      {"receivers_", "the parts, which the constructors add"},
      {"aside_", "counted by the parts that keep packets"},
      {"used_", "set by each turn"},
      {"share_", "0 between turns"},
      {"discarded_", "given back before the state is saved"},
      {"armed_", "the timer is armed after a load"},
      {"until_", "set by each turn"},
      {"running_", "false between turns"},
      {"giving_back_", "false between calls"}};
};

/// Schedules the items of one part of the adapter. The part runs them as a work_receiver.
class work_source {
 public:
  using ticket = scheduler::ticket;

  /// `name` is unique in the adapter. It names the part where items are listed. Both objects
  /// outlive this one, and `part` exists as long as items of it are pending.
  work_source(scheduler& in, std::string name, work_receiver& part)
      : scheduler_(in), receiver_(in.add_receiver(std::move(name), part)) {}

  ticket at(std::uint64_t due, work_item what) const {
    return add(due, std::move(what), reason::time, scheduler_.share_);
  }
  ticket after(std::uint64_t nanoseconds, work_item what) const {
    return at(scheduler::later(scheduler_.now(), nanoseconds), std::move(what));
  }
  ticket soon(work_item what) const {
    return add(scheduler_.at_once(), std::move(what), reason::inside, scheduler_.share_);
  }
  /// The item belongs to the share of port `port` (1-based). Any other number means the adapter's
  /// share.
  ticket soon(unsigned port, work_item what) const {
    return add(scheduler_.at_once(), std::move(what), reason::inside, scheduler::share_of(port));
  }
  /// The same for data that came by a cable.
  ticket arrived(unsigned port, work_item what) const {
    return add(scheduler_.at_once(), std::move(what), reason::arrival, scheduler::share_of(port));
  }
  void cancel(ticket& t) const { scheduler_.cancel(t); }

 private:
  using reason = scheduler::reason;
  ticket add(std::uint64_t due, work_item&& what, reason why, unsigned share) const {
    return scheduler_.add(due, receiver_, std::move(what), why, share);
  }

  scheduler& scheduler_;
  const std::uint16_t receiver_;
};

}  // namespace freehca::model
