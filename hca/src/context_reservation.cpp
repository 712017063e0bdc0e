// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/context_reservation.hpp>

#include <freehca/hca/device.hpp>

namespace freehca {

namespace {

const number_allocator* numbers_of(const number_spaces& n, context_group group) {
  switch (group) {
    case context_group::qp:
      return &n.qps;
    case context_group::srq:
      return &n.srqs;
    case context_group::cq:
      return &n.cqs;
    case context_group::mpt:
      return &n.mpts;
    case context_group::mtt:
      return &n.mtts;
    case context_group::eq:
    case context_group::mcg:
      break;
  }
  return nullptr;
}

}  // namespace

void context_reservation::reserve(device& adapter, context_group group, std::uint32_t objects) {
  if (!startable()) return;
  const bool holds = held_ && epoch_ == adapter.contexts().epoch();
  if (!adapter.up() || holds) return adapter.refuse(*this, driver_error::bad_state);
  const number_allocator* const numbers = numbers_of(adapter.numbers(), group);
  if (numbers == nullptr) return adapter.refuse(*this, driver_error::unsupported);
  // The lowest free number is given out: with so many taken or resting it lies below the sum of
  // all.
  const std::uint64_t wanted = std::uint64_t{objects} + numbers->out() + numbers->most_resting();
  from_ = numbers->first();
  count_ = wanted < numbers->total() ? static_cast<std::uint32_t>(wanted) : numbers->total();
  epoch_ = adapter.contexts().epoch();
  together_ = true;
  adapter.contexts().map(*this, group, from_, objects == 0 ? 0 : count_);
}

void context_reservation::release(device& adapter) {
  if (!startable()) return;
  if (!held_) return adapter.refuse(*this, driver_error::bad_state);
  if (!adapter.contexts().is_open() || adapter.contexts().epoch() != epoch_) {
    held_ = false;
    return adapter.refuse(*this, {});
  }
  adapter.contexts().unmap(*this, group_, from_, count_);
}

}  // namespace freehca
