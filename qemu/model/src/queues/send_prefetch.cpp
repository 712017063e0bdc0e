// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/send_prefetch.hpp"

#include <algorithm>
#include <atomic>

#include "queues/queue_pair.hpp"
#include "queues/wqe_reader.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

std::uint32_t blocks_of_entry(const work_queue& ring) {
  return (1u << ring.log_stride) / wqe_basic_block;
}

/// Counters of entries have 16 bits.
std::uint32_t place_of(const work_queue& ring, std::uint16_t counter, std::size_t block) {
  const std::uint32_t each = blocks_of_entry(ring);
  const auto entry = static_cast<std::uint16_t>(counter + block / each);
  return entry * each + static_cast<std::uint32_t>(block % each);
}

bool looks_valid(const work_queue& ring, std::uint32_t place, const std::byte* block) {
  // Kernels whose requests take several entries stamp every other lap with the uppermost bit clear
  // (Linux hw/mlx4/qp.c stamp_send_wqe, sq_max_wqes_per_wr); no byte count is that either.
  constexpr std::uint32_t known = wqe_stamp >> 1;
  if ((load_be<std::uint32_t>(block) & known) == known) return false;
  const std::uint32_t each = blocks_of_entry(ring);
  if (place % each != 0) return true;
  return image<wqe_ctrl>::from_bytes(block).get<&wqe_ctrl::owner>() ==
         ring.hardware_owner(static_cast<std::uint16_t>(place / each));
}

}  // namespace

void send_prefetch::read(adapter& a, const queue_pair& qp, std::uint16_t counter) {
  const work_queue& ring = qp.sq.ring;
  // A queue with entries below a block is none that hardware takes. Hardware does not read past
  // where it is, either.
  const std::uint64_t others = ring.bytes() - (std::uint64_t{1} << ring.log_stride);
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(distance, others));
  if ((std::size_t{1} << ring.log_stride) < block_bytes || bytes == 0) return;
  std::array<std::byte, distance> there;
  if (!read_entry(a, qp, counter, there.data(), bytes)) return;
  std::array<bool, blocks> is_new{};
  bool any = false;
  for (std::size_t i = 0; i < bytes / block_bytes; ++i) {
    const std::uint32_t place = place_of(ring, counter, i);
    if (slot(place).place == place || !looks_valid(ring, place, &there[i * block_bytes])) continue;
    any = is_new[i] = true;
  }
  if (!any) return;
  // Hardware reads a block at once, this host word by word. A right driver writes the first word
  // last: whoever has seen it, and reads once more, finds the rest as it is to be. The fence keeps
  // the compiler, and the processors that this runs on, from reading earlier. A block that has
  // changed meanwhile is looked at anew.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!read_entry(a, qp, counter, there.data(), bytes)) return;
  for (std::size_t i = 0; i < bytes / block_bytes; ++i) {
    const std::uint32_t place = place_of(ring, counter, i);
    if (!is_new[i] || !looks_valid(ring, place, &there[i * block_bytes])) continue;
    block_held& s = slot(place);
    s.place = place;
    std::copy_n(&there[i * block_bytes], block_bytes, s.bytes.data());
  }
}

const std::byte* send_prefetch::held(const work_queue& ring, std::uint16_t counter,
                                     std::size_t block) const {
  if (blocks_of_entry(ring) == 0) return nullptr;
  const std::uint32_t place = place_of(ring, counter, block);
  const block_held& s = slots_[place % blocks];
  return s.place == place ? s.bytes.data() : nullptr;
}

void send_prefetch::forget(const work_queue& ring, std::uint16_t counter, std::uint16_t entries) {
  const std::size_t gone = std::size_t{entries} * blocks_of_entry(ring);
  for (std::size_t i = 0; i < gone; ++i) {
    const std::uint32_t place = place_of(ring, counter, i);
    if (slot(place).place == place) slot(place).place = nothing;
  }
}

}  // namespace freehca::model
