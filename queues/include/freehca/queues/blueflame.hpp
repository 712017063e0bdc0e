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

/// A BlueFlame register. A WQE that is copied to it needs no doorbell, and the device need not
/// fetch it. Copies use the two halves of the register in turn (rdma-core providers/mlx4/qp.c
/// mlx4_bf_copy; Linux 6.1 mlx4/en_tx.c).
///
/// Several send queues of one UAR page may share it. Only one thread at a time may use it. If it is
/// not open, posts ring the doorbell instead.
class blueflame {
 public:
  /// `at` is the whole register, in a page that is mapped write-combining. An uncached mapping
  /// works too, but saves nothing. Error: driver_error::bad_argument (not mapped, a size that is
  /// not a power of two, or a half that is smaller than a basic block).
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

  /// True if a WQE of `bytes` bytes fits half of the register. False if the register is not open.
  bool takes(std::size_t bytes) const { return bytes <= half_; }

  /// Copies a WQE from the ring, in whole basic blocks, as the write-combining buffers are. The WQE
  /// in the ring already belongs to the device, and takes(bytes) is true.
  [[gnu::always_inline]] void copy(const std::byte* wqe, std::size_t bytes) {
    // The device may read the ring as soon as it has the copy.
    barrier::dma_store_to_mmio_copy();
    for (std::size_t at = 0; at < bytes; at += layouts::wqe_basic_block)
      for (std::size_t word = at; word != at + layouts::wqe_basic_block; word += 8)
        mmio::write_64(at_, next_ + word, dma::load_be64(wqe + word));
    // Sends the copy off. A later copy or doorbell cannot pass it.
    barrier::mmio_store_to_mmio_store();
    next_ ^= half_;
  }

 private:
  mmio_region at_;
  std::uint32_t half_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace freehca::queues
