// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "basis/scheduler.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Which queues in hardware's hands ring in which UAR page.
class uar_users {
 public:
  enum class kind : std::uint8_t { send_queue, completion_queue, event_queue };
  static constexpr std::size_t bytes_each = 64;  ///< that one takes at most

  void add(std::uint32_t page, kind what, std::uint32_t number) {
    if (queues_.emplace(page, what, number).second && ++pages_[page] == 1) ++changes_;
  }
  /// Nothing where it was not added.
  void remove(std::uint32_t page, kind what, std::uint32_t number) {
    if (queues_.erase({page, what, number}) == 0) return;
    const auto users = pages_.find(page);
    if (--users->second != 0) return;
    pages_.erase(users);
    ++changes_;
  }

  bool uses(std::uint32_t page) const { return pages_.contains(page); }
  /// The queue of the page with the lowest number that is `from` or more.
  std::optional<std::uint32_t> next(std::uint32_t page, kind what, std::uint32_t from) const {
    const auto found = queues_.lower_bound({page, what, from});
    if (found == queues_.end() || std::get<0>(*found) != page || std::get<1>(*found) != what)
      return std::nullopt;
    return std::get<2>(*found);
  }
  /// Calls `f` for each page that has a queue.
  template <class F>
  void each_page(F f) const {
    for (const auto& [page, users] : pages_) f(page);
  }
  /// Rises when a page gets its first queue, and when it loses its last.
  std::uint64_t changes() const { return changes_; }

  /// These take the place of `before`. The number rises if the pages are others.
  void follow(const uar_users& before) {
    changes_ = before.changes_;
    const bool same = pages_.size() == before.pages_.size() &&
                      std::ranges::all_of(
                          pages_, [&before](const auto& page) { return before.uses(page.first); });
    if (!same) ++changes_;
  }

  void clear(scheduler& work) {
    work.discard(queues_);
    work.discard(pages_);
    ++changes_;
  }

 private:
  std::set<std::tuple<std::uint32_t, kind, std::uint32_t>> queues_;
  std::unordered_map<std::uint32_t, std::uint32_t> pages_;
  std::uint64_t changes_ = 0;

 public:
  using saved = saving::fields<&uar_users::queues_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"pages_", "the pages of the queues"}, {"changes_", "of this device: follow() gives it"}};
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer_members(archive, *this);
    if constexpr (Archive::loads) {
      pages_.clear();
      for (const auto& queue : queues_) ++pages_[std::get<0>(queue)];
    }
  }
};

template <>
inline constexpr auto saving::greatest<uar_users::kind> = uar_users::kind::event_queue;

}  // namespace freehca::model
