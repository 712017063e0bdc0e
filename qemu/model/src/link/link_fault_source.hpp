// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freehca/model/link_faults.hpp>

#include "basis/counters.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

namespace saving {
template <>
inline constexpr auto fields_of<link_faults> =
    fields<&link_faults::loss, &link_faults::corruption, &link_faults::duplication,
           &link_faults::reordering, &link_faults::seed>{};
}

/// Draws what becomes of each packet on a bad cable.
class link_fault_source {
 public:
  /// Whether some of what is damaged gets a checksum at its end that is right again: InfiniBand's
  /// VCRC. Frames have none here, so that theirs always is.
  enum class resealing : std::uint8_t { never, vcrc };
  explicit link_fault_source(resealing how = resealing::vcrc) : reseals_(how) {}

  struct fate {
    bool lost = false, twice = false, held_back = false;
  };

  void set(const link_faults& how);
  /// Damages `bytes`, a packet from LRH to VCRC or a frame, where that is its fate. `can_hold`: one
  /// more may be held back.
  fate decide(std::vector<std::byte>& bytes, bool can_hold);
  /// Counters "NAME_fault_lost" and so on.
  void count_in(counter_registry& registry, const std::string& name) const;

 private:
  std::uint64_t draw();
  bool happens(std::uint32_t rate);
  void damage(std::vector<std::byte>& bytes);

  const resealing reseals_;
  link_faults how_;
  std::uint64_t state_ = 0;
  std::uint64_t lost_ = 0, corrupted_ = 0, doubled_ = 0, reordered_ = 0;

 public:
  using saved = saving::fields<&link_fault_source::how_, &link_fault_source::state_,
                               &link_fault_source::lost_, &link_fault_source::corrupted_,
                               &link_fault_source::doubled_, &link_fault_source::reordered_>;
};

}  // namespace freehca::model
