// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::queues {

/// A BlueFlame register: a WQE that is copied to it needs no doorbell, and the device need not
/// fetch it. Its halves are used in turn (rdma-core providers/mlx4/qp.c mlx4_bf_copy; Linux 6.1
/// mlx4/en_tx.c).
///
/// Several send queues of the same UAR page may use one, by one thread at a time. One that is not
/// open takes nothing: posts ring the doorbell instead.
class blueflame {
 public:
  /// `at`: the register whole, in a page that is mapped write-combining; uncached it works as well,
  /// and saves nothing. driver_error::bad_argument: its size is not a power of two, or a half of it
  /// is less than a basic block.
  status open(const mmio_region& at) {
    if (at.base == nullptr || at.bytes < 2 * layouts::wqe_basic_block ||
        (at.bytes & (at.bytes - 1)) != 0)
      return driver_error::bad_argument;
    at_ = at;
    half_ = static_cast<std::uint32_t>(at.bytes / 2);
    next_ = 0;
    return {};
  }
  void close() { *this = {}; }

  /// Is there room for a WQE of so many bytes?
  bool takes(std::size_t bytes) const { return bytes <= half_; }

  /// Copies a WQE, which stands in the ring, is given away there, and is no longer than takes()
  /// says: in whole blocks, as the write-combining buffers are.
  [[gnu::always_inline]] void copy(const std::byte* wqe, std::size_t bytes) {
    // The device checks nothing: it may read the ring as soon as it has the copy.
    barrier::dma_store_to_mmio_copy();
    for (std::size_t at = 0; at < bytes; at += layouts::wqe_basic_block)
      for (std::size_t word = at; word != at + layouts::wqe_basic_block; word += 8)
        mmio::write_64(at_, next_ + word, dma::load_be64(wqe + word));
    // Sends it off, and keeps the next copy, or a doorbell, from passing it.
    barrier::mmio_store_to_mmio_store();
    next_ ^= half_;
  }

 private:
  mmio_region at_;
  std::uint32_t half_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace freehca::queues
