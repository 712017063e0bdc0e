// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/clock.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>

namespace freehca {

/// When the first of some operations is overdue: a bound, so that looking costs nothing until one
/// may be. For the owner of operations that run in several steps; single commands have the
/// channel's deadlines.
class deadlines {
 public:
  /// One that was started.
  void add(const operation& o) { earliest_ = clock::earlier(earliest_, o.deadline()); }
  /// Not later than the first deadline of those that were added and still run.
  std::uint64_t next() const { return earliest_; }

  /// Expires those in `among` that are overdue.
  template <class T>
  void expire(list<T>& among, std::uint64_t now) {
    if (now < earliest_) return;
    earliest_ = clock::never;
    for (T *o = among.front(), *next = nullptr; o != nullptr; o = next) {
      next = among.next(*o);
      if (!o->stop_reason().ok()) continue;
      if (o->deadline() <= now) o->expire();
      else add(*o);
    }
  }

 private:
  std::uint64_t earliest_ = clock::never;
};

}  // namespace freehca
