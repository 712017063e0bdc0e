// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <freehca/model/options.hpp>

#include "basis/counters.hpp"
#include "basis/rule_book.hpp"
#include "basis/scheduler.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Which kind of link speaks at the far end of a VPI port's cable, by what has come out of it. An
/// InfiniBand port that is open says who it is by link packets, again and again until its
/// transmitter goes off; anything else is a frame, unless InfiniBand speaks.
class far_end final : private work_receiver {
 public:
  /// `changed`: InfiniBand began to speak, or ended.
  far_end(scheduler& schedule, rule_book& rules, counter_registry& counters, unsigned number,
          std::function<void()> changed);

  /// Listens to what came out of the cable; false: the port, which is of the kind `own` now, does
  /// not take it, and it was counted.
  bool passes(std::span<const std::byte> bytes, link_layer own);
  bool speaks_infiniband() const { return infiniband_; }
  /// Nothing: it was not heard since the last reset, or since the cable was plugged in.
  std::optional<link_layer> heard() const;
  void clear();

 private:
  void infiniband_speaks(bool speaks);
  void listen(std::uint64_t for_ns);

  enum work : std::uint8_t { end_of_patience };
  void run_item(work_item& what) override;

  scheduler& schedule_;
  rule_book& rules_;
  work_source work_;
  const unsigned number_;
  std::function<void()> changed_;
  bool infiniband_ = false, frames_ = false;
  std::uint64_t heard_at_ = 0;  ///< the last link packet
  scheduler::ticket silence_;
  std::uint64_t foreign_ = 0;

 public:
  using saved = saving::fields<&far_end::infiniband_, &far_end::frames_, &far_end::heard_at_,
                               &far_end::silence_, &far_end::foreign_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"},
                                                       {"changed_", "set at construction"}};
};

}  // namespace freehca::model
