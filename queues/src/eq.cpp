// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/eq.hpp>

namespace freehca::queues {

status eq::open(const eq_resources& resources) {
  if (resources.log_entries > 22 || (resources.entry_bytes != 32 && resources.entry_bytes != 64) ||
      resources.ring.host == nullptr ||
      resources.ring.bytes < ring_bytes(resources.log_entries, resources.entry_bytes) ||
      resources.doorbell.bytes < layouts::eq_doorbell::bytes)
    return driver_error::bad_argument;
  ring_ = resources.ring;
  doorbell_ = resources.doorbell;
  entries_ = 1u << resources.log_entries;
  entry_bytes_ = resources.entry_bytes;
  offset_ = static_cast<std::uint32_t>(layouts::eqe_offset_in_entry(entry_bytes_ == 64));
  consumer_ = unreported_ = 0;
  // Linux reports after 0x80 events at the latest (eq.c MLX4_NUM_SPARE_EQE). A short ring is
  // reported at its half.
  tell_at_ = entries_ / 2 < 0x80 ? entries_ / 2 : 0x80;
  if (tell_at_ == 0) tell_at_ = 1;

  layouts::image<layouts::eqe> unused;
  unused.set<&layouts::eqe::owner>(true);
  dma::clear(ring_.host, ring_bytes(resources.log_entries, entry_bytes_));
  for (std::uint32_t i = 0; i < entries_; ++i)
    dma::store_bytes(ring_.host + std::size_t{i} * entry_bytes_ + offset_, unused.data(),
                     layouts::eqe::bytes);
  cache::clean(ring_.host, ring_bytes(resources.log_entries, entry_bytes_));
  return {};
}

bool eq::pending() const {
  return is_open() && is_mine(entry_at(consumer_));
}

}  // namespace freehca::queues
