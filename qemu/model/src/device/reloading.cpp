// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/parts.hpp"

namespace freehca::model {

namespace {

struct {
  std::uint32_t one_of = 0;
  std::uint64_t drawn = 0;
  device::reload_counts counts;
} plan;

bool is_drawn() {
  // The generator of Knuth's MMIX.
  plan.drawn = plan.drawn * 6364136223846793005u + 1442695040888963407u;
  return (plan.drawn >> 33) % plan.one_of == 0;
}

}  // namespace

void device::reload_at_one_of(std::uint32_t calls, std::uint64_t seed) {
  plan.one_of = calls;
  plan.drawn = seed;
}
device::reload_counts device::reloads() {
  return plan.counts;
}

device::parts& device::entered(entry by) {
  if (plan.one_of == 0 || parts_->calls != 0 || parts_->looked_into || !is_drawn()) return *parts_;
  if (!parts_->obstacle_to_saving().empty()) return *parts_;
  const std::vector<std::byte> state = parts_->save();
  auto replacement = std::make_unique<parts>(parts_->surroundings, parts_->how);
  std::string why;
  if (replacement->load(state, why)) {
    replacement->uars.follow(parts_->uars);
    parts_ = std::move(replacement);
    ++plan.counts.done;
    // The load has armed the timer, whose call this is.
    if (by == entry::timer) parts_->surroundings.arm_timer(environment::never);
  } else {
    std::fprintf(stderr, "the state of a device is refused: %s\n", why.c_str());
    ++plan.counts.refused;
  }
  return *parts_;
}

}  // namespace freehca::model
