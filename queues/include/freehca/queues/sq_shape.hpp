// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::queues {

/// The size of a send queue: 1 << log_entries entries of 1 << log_stride bytes. An entry has at
/// least one basic block (64 bytes). Each WQE takes one entry.
struct sq_shape {
  std::uint8_t log_entries = 0;
  std::uint8_t log_stride = 6;

  /// The device prefetches. 2 KiB and one WQE ahead of the producer therefore stay stamped (Linux
  /// 6.1 hw/mlx4/mlx4_ib.h MLX4_IB_SQ_HEADROOM).
  static constexpr std::uint32_t headroom_bytes = 2048;

  constexpr std::uint32_t entries() const { return 1u << log_entries; }
  constexpr std::uint32_t spare() const { return (headroom_bytes >> log_stride) + 1; }
  constexpr std::uint32_t most_posted() const {
    return entries() > spare() ? entries() - spare() : 0;
  }
  constexpr std::size_t bytes() const { return std::size_t{1} << (log_entries + log_stride); }
  friend constexpr bool operator==(const sq_shape&, const sq_shape&) = default;
};

/// Bytes of the control and the remote address segment, which precede the data of an RDMA request.
inline constexpr std::size_t rdma_header_bytes =
    layouts::wqe_ctrl::bytes + layouts::wqe_remote_address::bytes;
/// Bytes of the control and the datagram segment. They fill one basic block. The first word of the
/// data therefore replaces a stamp.
inline constexpr std::size_t datagram_header_bytes =
    layouts::wqe_ctrl::bytes + layouts::wqe_datagram::bytes;
static_assert(datagram_header_bytes == layouts::wqe_basic_block);
/// The most bytes of a WQE: the field `ds` has six bits.
inline constexpr std::size_t most_wqe_bytes = 63 * layouts::wqe_unit;

/// Bytes of a WQE with `length` bytes of inline data from byte `at` on. An inline segment may not
/// cross a basic block. Each block therefore has a segment of its own.
constexpr std::size_t wqe_end_of_inline(std::size_t at, std::size_t length) {
  while (length != 0) {
    const std::size_t room =
        layouts::wqe_basic_block - at % layouts::wqe_basic_block - layouts::wqe_inline::bytes;
    const std::size_t taken = length < room ? length : room;
    at += layouts::wqe_inline::bytes + taken;
    length -= taken;
  }
  return (at + layouts::wqe_unit - 1) / layouts::wqe_unit * layouts::wqe_unit;
}

/// Bytes of an atomic request, and of the longest masked atomic request.
inline constexpr std::size_t atomic_wqe_bytes =
    rdma_header_bytes + layouts::wqe_atomic::bytes + layouts::wqe_data::bytes;
inline constexpr std::size_t masked_atomic_wqe_bytes =
    rdma_header_bytes + layouts::wqe_masked_atomic::bytes + layouts::wqe_data::bytes;

/// Bytes of the longest WQE of a queue. It has `gather` data segments or `inline_bytes` inline
/// bytes behind the header, or `least` bytes if that is more. `header` is rdma_header_bytes for
/// connections and datagram_header_bytes for datagrams.
constexpr std::size_t wqe_bytes_for(std::size_t gather, std::size_t inline_bytes,
                                    std::size_t header = rdma_header_bytes,
                                    std::size_t least = atomic_wqe_bytes) {
  const std::size_t list = header + gather * layouts::wqe_data::bytes;
  const std::size_t data = wqe_end_of_inline(header, inline_bytes);
  const std::size_t longer = list > data ? list : data;
  return longer > least ? longer : least;
}

/// Returns the smallest shape for `requests` outstanding requests. Error:
/// driver_error::bad_argument (a longer WQE than the device has, or more entries than the 16-bit
/// WQE counter distinguishes).
constexpr result<sq_shape> sq_shape_for(std::uint32_t requests, std::size_t gather,
                                        std::size_t inline_bytes,
                                        std::size_t header = rdma_header_bytes,
                                        std::size_t least = atomic_wqe_bytes) {
  if (gather > most_wqe_bytes || inline_bytes > most_wqe_bytes || requests > 0x8000)
    return status(driver_error::bad_argument);
  const std::size_t wqe = wqe_bytes_for(gather, inline_bytes, header, least);
  if (wqe > most_wqe_bytes) return status(driver_error::bad_argument);
  sq_shape shape;
  while ((std::size_t{1} << shape.log_stride) < wqe) ++shape.log_stride;
  const std::uint32_t entries = (requests == 0 ? 1 : requests) + shape.spare();
  shape.log_entries = static_cast<std::uint8_t>(layouts::bit_width(entries - 1));
  if (shape.log_entries > 15) return status(driver_error::bad_argument);
  return shape;
}

static_assert(wqe_end_of_inline(32, 0) == 32 && wqe_end_of_inline(32, 28) == 64 &&
              wqe_end_of_inline(32, 29) == 80);
static_assert(sq_shape_for(1, 2, 28).value() == sq_shape{6, 6});
static_assert(
    sq_shape_for(1, 1, 0, rdma_header_bytes, masked_atomic_wqe_bytes).value().log_stride == 7);
static_assert(sq_shape_for(1, 0, 0, datagram_header_bytes).value().log_stride == 6 &&
              sq_shape_for(1, 4, 60, datagram_header_bytes).value().log_stride == 7 &&
              sq_shape_for(1, 4, 61, datagram_header_bytes).value().log_stride == 8);

}  // namespace freehca::queues
