// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/traffic_classes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "frames/frame.hpp"
#include "ports/ethernet_settings.hpp"

namespace freehca::model {

namespace {

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;
// What a class may make good of a time in which it did not use its rate. No source: chosen.
// So long may the host's timers be late before the rate falls below what was told.
constexpr std::uint64_t burst_ns = 10'000'000;
// A share of 1 % uses up a hundred times what one of 100 % does.
constexpr std::uint64_t whole_share = 100;

}  // namespace

bool traffic_classes::may_pass(unsigned traffic_class, std::uint64_t now) const {
  return queues_[traffic_class].frames.empty() && !spent(traffic_class, now) && !next(now);
}

void traffic_classes::passed(unsigned traffic_class, std::size_t frame_bytes, std::uint64_t now) {
  queue& q = queues_[traffic_class];
  const traffic_class_settings& told = told_[traffic_class];
  const std::uint64_t on_link = frame_bytes + fcs_bytes;
  std::uint64_t& level = levels_[told.group % count];
  level = std::max(level, q.used);
  q.used = level + on_link * whole_share / std::max(1u, told.share);
  if (told.bits_per_second == 0) return;
  const std::uint64_t earliest = now > burst_ns ? now - burst_ns : 0;
  q.free_at =
      std::max(q.free_at, earliest) + on_link * 8 * nanoseconds_per_second / told.bits_per_second;
}

void traffic_classes::push(unsigned traffic_class, bytes frame) {
  queue& q = queues_[traffic_class];
  waiting_bytes_ += frame.size();
  q.waiting_bytes += frame.size();
  q.frames.push_back(std::move(frame));
}

std::optional<unsigned> traffic_classes::next(std::uint64_t now) const {
  std::optional<unsigned> first;
  const auto before = [this](unsigned a, unsigned b) {
    return std::pair{told_[a].group, queues_[a].used} < std::pair{told_[b].group, queues_[b].used};
  };
  for (unsigned i = 0; i < count; ++i) {
    if (queues_[i].frames.empty() || spent(i, now)) continue;
    if (!first || before(i, *first)) first = i;
  }
  return first;
}

std::uint64_t traffic_classes::due() const {
  std::uint64_t earliest = std::numeric_limits<std::uint64_t>::max();
  for (const queue& q : queues_)
    if (!q.frames.empty()) earliest = std::min(earliest, q.free_at);
  return earliest;
}

void traffic_classes::pop(unsigned traffic_class, std::uint64_t now) {
  queue& q = queues_[traffic_class];
  const std::size_t frame_bytes = q.frames.front().size();
  passed(traffic_class, frame_bytes, now);
  waiting_bytes_ -= frame_bytes;
  q.waiting_bytes -= frame_bytes;
  q.frames.pop_front();
}

void traffic_classes::told_anew() {
  for (std::size_t i = 0; i < count; ++i) {
    queues_[i].used = 0;
    if (told_[i].bits_per_second == 0) queues_[i].free_at = 0;
  }
  levels_ = {};
}

const char* traffic_classes::broken_invariant() const {
  std::uint64_t of_all = 0;
  for (const queue& q : queues_) {
    std::uint64_t of_class = 0;
    for (const bytes& frame : q.frames) {
      if (!is_frame_length(frame.size())) return "no frame of that length waits for the cable";
      of_class += frame.size();
    }
    if (of_class != q.waiting_bytes) return "a class counts other bytes than those that wait";
    of_all += of_class;
  }
  return of_all == waiting_bytes_ ? nullptr : "the classes count other bytes than those that wait";
}

void traffic_classes::clear(scheduler& work) {
  for (queue& q : queues_) {
    work.discard(q.frames);
    q = {};
  }
  levels_ = {};
  waiting_bytes_ = 0;
}

}  // namespace freehca::model
