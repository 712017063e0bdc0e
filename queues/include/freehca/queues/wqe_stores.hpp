// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Segments of a WQE, stored straight into the ring. The first word of each 64-byte block but the
// first replaces the stamp and goes last of its block, behind a barrier: the device may read the
// ring ahead (layouts/wqe.hpp). The first block is given away by its first word.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/receive_request.hpp>
#include <freehca/queues/requests.hpp>

namespace freehca::queues {

/// A word as it stands in memory: what is a constant, or is kept like that, needs no swap.
[[gnu::always_inline]] inline void store_in_memory(std::byte* to, std::uint64_t word) {
  dma::store_be64(to, layouts::swap_be(word));
}

[[gnu::always_inline]] inline void store_remote(std::byte* to, const remote_memory_in_ring& r) {
  using l = layouts::wqe_remote_address;
  dma::store_be64(to + l{}.remote_address.offset, r.address);
  store_in_memory(to + l{}.rkey.offset, r.key);
}

/// What a masked atomic segment has more than one without masks.
[[gnu::always_inline]] inline void store_masks(std::byte* to, std::uint64_t operand,
                                               std::uint64_t compare) {
  using l = layouts::wqe_masked_atomic;
  static_assert(l{}.swap_add.offset == layouts::wqe_atomic{}.swap_add.offset &&
                l{}.compare.offset == layouts::wqe_atomic{}.compare.offset);
  dma::store_be64(to + l{}.swap_add_mask.offset, operand);
  dma::store_be64(to + l{}.compare_mask.offset, compare);
}

/// A datagram segment, which ends with the first block: no stamp is in it.
[[gnu::always_inline]] inline void store_datagram(std::byte* to, const datagram_destination& d) {
  using l = layouts::wqe_datagram;
  dma::store_bytes(to, d.at->vector.data(), layouts::address_vector::bytes);
  dma::store_be64(to + l{}.dqpn.offset,
                  layouts::in_word<&l::dqpn>(d.qpn) | layouts::in_word<&l::qkey>(d.qkey));
  dma::store_be64(to + l{}.vlan.offset, d.at->vlan_and_mac);
}

/// A data segment; its first word goes last.
[[gnu::always_inline]] inline void store_entry(std::byte* to, const data_entry_in_ring& d) {
  dma::store_be64(to + layouts::wqe_data{}.address.offset, d.address);
  store_in_memory(to, d.length_and_key);
}

/// Adds up the bytes of a list, and how many of its entries are not empty. False: one of them is
/// longer than a segment can say.
[[gnu::always_inline]] inline bool add_up(const data_entry* first, std::uint32_t count,
                                          std::uint64_t& bytes, unsigned& entries) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t length = first[i].length;
    if (length > most_data_bytes) [[unlikely]]
      return false;
    bytes += length;
    entries += length != 0;
  }
  return true;
}

/// Is it one entry, as most receives are, of at least one byte and at most `most`?
[[gnu::always_inline]] inline bool is_one_entry(const receive_request& r, std::uint32_t most) {
  return r.entries == 1 && r.list != nullptr && r.list[0].length - 1 < most;
}

/// Has a receive no more than `most_scatter` entries that are not empty? `bytes`: how much there is
/// room for, as far as a slot counts.
inline status check_receive(const receive_request& r, unsigned most_scatter, std::uint32_t& bytes) {
  if (r.list == nullptr && r.entries != 0) return driver_error::bad_argument;
  std::uint64_t sum = 0;
  unsigned entries = 0;
  if (!add_up(r.list, r.entries, sum, entries) || entries > most_scatter)
    return driver_error::bad_argument;
  constexpr std::uint32_t most = ~std::uint32_t{0};
  bytes = sum < most ? static_cast<std::uint32_t>(sum) : most;
  return {};
}

/// The data segments of a receive WQE, from `at` on. Where they end before the WQE does, another
/// one says so.
inline void store_receive(std::byte* at, const std::byte* end, const receive_request& r) {
  for (unsigned i = 0; i < r.entries; ++i) {
    if (r.list[i].length == 0) continue;
    store_entry(at, r.list[i]);
    at += layouts::wqe_data::bytes;
  }
  if (at < end) store_entry(at, data_entry{.lkey = layouts::invalid_lkey});
}

/// Has each of `count` receive WQEs of 1 << log_stride bytes end behind one data segment, the first
/// of which stands `head` bytes into the WQE.
inline void store_ends(std::byte* ring, std::uint32_t count, unsigned log_stride,
                       std::size_t head) {
  const std::size_t stride = std::size_t{1} << log_stride, at = head + layouts::wqe_data::bytes;
  if (at >= stride) return;
  for (std::uint32_t i = 0; i < count; ++i)
    store_entry(ring + i * stride + at, data_entry{.lkey = layouts::invalid_lkey});
}

/// A data segment at byte `at` of a send WQE.
[[gnu::always_inline]] inline void store_data(std::byte* wqe, std::uint32_t at,
                                              const data_entry_in_ring& d) {
  dma::store_be64(wqe + at + layouts::wqe_data{}.address.offset, d.address);
  if (at % layouts::wqe_basic_block == 0) barrier::dma_store_to_dma_store();
  store_in_memory(wqe + at, d.length_and_key);
}

/// Data segments from byte `at` on, `entries` of which are not empty; from the last to the first,
/// as the stamps want it. The WQE's length.
[[gnu::always_inline]] inline std::uint32_t store_list(std::byte* wqe, std::uint32_t at,
                                                       const data_list& list, unsigned entries) {
  const auto each = static_cast<std::uint32_t>(layouts::wqe_data::bytes);
  const std::uint32_t end = at + entries * each;
  std::uint32_t to = end;
  for (std::uint32_t i = list.count; i-- != 0;) {
    if (list.first[i].length == 0) continue;
    to -= each;
    store_data(wqe, to, list.first[i]);
  }
  return end;
}

/// Inline segments from byte `at` on, one for each block; the WQE's length, in whole units.
inline std::uint32_t store_inline(std::byte* wqe, std::uint32_t at, const inline_data& data) {
  using l = layouts::wqe_inline;
  const auto block = static_cast<std::uint32_t>(layouts::wqe_basic_block),
             head = static_cast<std::uint32_t>(l::bytes),
             unit = static_cast<std::uint32_t>(layouts::wqe_unit);
  const std::byte* from = data.from;
  for (std::uint32_t left = data.length; left != 0;) {
    const std::uint32_t room = block - at % block - head, taken = left < room ? left : room;
    dma::store_bytes(wqe + at + head, from, taken);
    if (at % block == 0) barrier::dma_store_to_dma_store();
    layouts::image<l> segment;
    segment.set<&l::inline_data>(true).set<&l::byte_count>(taken);
    dma::store_be32(wqe + at, layouts::load_be<std::uint32_t>(segment.data()));
    at += head + taken;
    from += taken;
    left -= taken;
  }
  return (at + unit - 1) / unit * unit;
}

/// The control segment, whose first word gives the WQE of `bytes` bytes to the device. `first`:
/// that word as it stands in memory; `second`: the value of the other one, without the flags.
[[gnu::always_inline]] inline void give_away(std::byte* wqe, std::uint32_t bytes,
                                             std::uint64_t first, request_flags flags,
                                             std::uint64_t second) {
  using l = layouts::wqe_ctrl;
  store_in_memory(wqe + l{}.cq_update.offset, in_second_word(flags) | layouts::swap_be(second));
  // The first block is a line of the cache, which becomes visible as a whole; the others must be
  // there before it.
  if (bytes > layouts::wqe_basic_block)
    cache::clean(wqe + layouts::wqe_basic_block, bytes - layouts::wqe_basic_block);
  barrier::dma_store_to_dma_store();
  store_in_memory(wqe, first);
  cache::clean(wqe, layouts::wqe_basic_block);
}

}  // namespace freehca::queues
