// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Functions that store the segments of a WQE straight into the ring. In each 64-byte block but the
// first, the first word replaces the stamp. This word is stored last in its block, behind a
// barrier, because the device may read the ring ahead (layouts/wqe.hpp). The first word of the
// first block gives the WQE to the device; see give_away().
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

/// Stores a word that is already in the byte order of memory. A constant then needs no swap at run
/// time.
[[gnu::always_inline]] inline void store_in_memory(std::byte* to, std::uint64_t word) {
  dma::store_be64(to, layouts::swap_be(word));
}

[[gnu::always_inline]] inline void store_remote(std::byte* to, const remote_memory_in_ring& r) {
  using l = layouts::wqe_remote_address;
  dma::store_be64(to + l{}.remote_address.offset, r.address);
  store_in_memory(to + l{}.rkey.offset, r.key);
}

/// Stores the part of a masked atomic segment that an atomic segment does not have.
[[gnu::always_inline]] inline void store_masks(std::byte* to, std::uint64_t operand,
                                               std::uint64_t compare) {
  using l = layouts::wqe_masked_atomic;
  static_assert(l{}.swap_add.offset == layouts::wqe_atomic{}.swap_add.offset &&
                l{}.compare.offset == layouts::wqe_atomic{}.compare.offset);
  dma::store_be64(to + l{}.swap_add_mask.offset, operand);
  dma::store_be64(to + l{}.compare_mask.offset, compare);
}

/// Stores a datagram segment. It ends with the first block and has no stamp.
[[gnu::always_inline]] inline void store_datagram(std::byte* to, const datagram_destination& d) {
  using l = layouts::wqe_datagram;
  dma::store_bytes(to, d.at->vector.data(), layouts::address_vector::bytes);
  dma::store_be64(to + l{}.dqpn.offset,
                  layouts::in_word<&l::dqpn>(d.qpn) | layouts::in_word<&l::qkey>(d.qkey));
  dma::store_be64(to + l{}.vlan.offset, d.at->vlan_and_mac);
}

/// Stores a data segment, its first word last.
[[gnu::always_inline]] inline void store_entry(std::byte* to, const data_entry_in_ring& d) {
  dma::store_be64(to + layouts::wqe_data{}.address.offset, d.address);
  store_in_memory(to, d.length_and_key);
}

/// Adds the bytes of a list to `bytes`, and the number of its entries that are not empty to
/// `entries`. Returns false if an entry is longer than most_data_bytes.
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

/// True if the receive has one entry of 1 to `most` bytes, as most receives do.
[[gnu::always_inline]] inline bool is_one_entry(const receive_request& r, std::uint32_t most) {
  return r.entries == 1 && r.list != nullptr && r.list[0].length - 1 < most;
}

/// Checks a receive, and sets `bytes` to the size of its buffer, at most 2^32 - 1. Error:
/// driver_error::bad_argument (no list, an entry that is too long, or more than `most_scatter`
/// entries that are not empty).
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

/// Stores the data segments of a receive WQE from `at` on. If they end before `end`, stores an end
/// segment behind them.
inline void store_receive(std::byte* at, const std::byte* end, const receive_request& r) {
  for (unsigned i = 0; i < r.entries; ++i) {
    if (r.list[i].length == 0) continue;
    store_entry(at, r.list[i]);
    at += layouts::wqe_data::bytes;
  }
  if (at < end) store_entry(at, data_entry{.lkey = layouts::invalid_lkey});
}

/// Stores an end segment behind the first data segment of each of `count` receive WQEs, if it fits.
/// A WQE has 1 << log_stride bytes. Its first data segment is at byte `head`.
inline void store_ends(std::byte* ring, std::uint32_t count, unsigned log_stride,
                       std::size_t head) {
  const std::size_t stride = std::size_t{1} << log_stride, at = head + layouts::wqe_data::bytes;
  if (at >= stride) return;
  for (std::uint32_t i = 0; i < count; ++i)
    store_entry(ring + i * stride + at, data_entry{.lkey = layouts::invalid_lkey});
}

/// Stores a data segment at byte `at` of a send WQE.
[[gnu::always_inline]] inline void store_data(std::byte* wqe, std::uint32_t at,
                                              const data_entry_in_ring& d) {
  dma::store_be64(wqe + at + layouts::wqe_data{}.address.offset, d.address);
  if (at % layouts::wqe_basic_block == 0) barrier::dma_store_to_dma_store();
  store_in_memory(wqe + at, d.length_and_key);
}

/// Stores the data segments of a list from byte `at` on, the last one first, as the stamps require.
/// `entries` is the number of entries that are not empty. Returns the length of the WQE in bytes.
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

/// Stores inline segments from byte `at` on, one for each block. Returns the length of the WQE in
/// bytes, rounded up to 16.
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

/// Stores the control segment. Its first word gives the WQE of `bytes` bytes to the device. `first`
/// is this word in the byte order of memory. `second` is the second word in host order, without the
/// flags.
[[gnu::always_inline]] inline void give_away(std::byte* wqe, std::uint32_t bytes,
                                             std::uint64_t first, request_flags flags,
                                             std::uint64_t second) {
  using l = layouts::wqe_ctrl;
  store_in_memory(wqe + l{}.cq_update.offset, in_second_word(flags) | layouts::swap_be(second));
  // The first block is one cache line, which becomes visible as a whole. The other blocks must be
  // visible before it.
  if (bytes > layouts::wqe_basic_block)
    cache::clean(wqe + layouts::wqe_basic_block, bytes - layouts::wqe_basic_block);
  barrier::dma_store_to_dma_store();
  store_in_memory(wqe, first);
  cache::clean(wqe, layouts::wqe_basic_block);
}

}  // namespace freehca::queues
