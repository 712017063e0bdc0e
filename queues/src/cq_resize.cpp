// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/cq.hpp>

namespace freehca::queues {

using namespace layouts;

std::uint32_t cq::unpolled() const {
  std::uint32_t count = 0;
  for (const std::uint32_t first = consumer(); is_open() && count <= mask_; ++count) {
    cache::invalidate(entry_at(first + count), cqe::bytes);
    if (!is_mine(last_word_of(entry_at(first + count)), lap_of(first + count))) break;
  }
  return count;
}

status cq::move_to(const dma_region& ring, unsigned log_entries) {
  if (!is_open() || !can_move() || log_entries > 22 || ring.host == nullptr ||
      ring.bytes < ring_bytes(log_entries, 1u << log_stride_))
    return driver_error::bad_argument;
  const std::uint32_t first = consumer(), end = first + unpolled();
  barrier::dma_load_to_dma_load();
  const cq old = *this;
  mask_ = (1u << log_entries) - 1;
  ring_ = ring.host;
  begin_ = ring_ + (old.begin_ - old.ring_);
  last_ = entry_at(mask_);
  // The entry of the resize is the last one of the old ring. The entries before it move up by one.
  // If poll() has dropped that entry, no others are left.
  std::uint32_t gone = 0;
  for (std::uint32_t i = end; i-- != first;) {
    image<cqe> e;
    dma::load_bytes(e.data(), old.entry_at(i), cqe::bytes);
    if (gone == 0 && e.get<&cqe::opcode>() == static_cast<std::uint64_t>(cqe_opcode::resize)) {
      gone = 1;
      continue;
    }
    e.set<&cqe::owner>(lap_of(i + gone) != 0);
    // The device has filled the new ring.
    cache::invalidate(entry_at(i + gone), cqe::bytes);
    dma::store_bytes(entry_at(i + gone), e.data(), cqe::bytes);
    cache::clean(entry_at(i + gone), cqe::bytes);
  }
  go_to(first + gone);
  tell_consumer();
  return {};
}

}  // namespace freehca::queues
