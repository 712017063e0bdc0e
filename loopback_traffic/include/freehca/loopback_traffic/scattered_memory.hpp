// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <freehca/hal/page_list.hpp>
#include <freehca/hal/platform.hpp>

namespace freehca::loopback_traffic {

/// Memory whose pages are in a shuffled order: no two neighbours of the buffer are neighbours for
/// the device, so that whoever forgets a translation is found out. Gives its block back when it
/// goes.
class scattered_memory {
 public:
  static constexpr std::size_t page = 4096;
  /// What allocate() takes of the platform for `bytes`.
  static constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page - 1) / page * page;
  }

  scattered_memory() = default;
  ~scattered_memory() { release(); }
  scattered_memory(const scattered_memory&) = delete;
  scattered_memory& operator=(const scattered_memory&) = delete;

  status allocate(const platform& from, std::size_t bytes, std::uint64_t seed);
  void release();

  std::size_t bytes() const { return order_.size() * page; }
  page_list pages() const { return {addresses_.data(), 12, 0, bytes()}; }

  void store(std::size_t offset, const std::byte* from, std::size_t bytes);
  void load(std::size_t offset, std::byte* to, std::size_t bytes) const;

 private:
  std::byte* at(std::size_t offset) const {
    return block_.host + order_[offset / page] * page + offset % page;
  }

  platform platform_;
  dma_region block_;
  std::vector<std::size_t> order_;  // page i of the buffer is page order_[i] of the block
  std::vector<std::uint64_t> addresses_;
};

/// Memory of traffic, which outlives it: an operation that failed may have left the device with it.
/// It goes when the device has been taken down or closed, and the platform is still there.
class traffic_memory {
 public:
  /// Lives as long as this. Outcomes as of platform_operations::allocate_dma.
  result<scattered_memory*> allocate(const platform& from, std::size_t bytes);

 private:
  std::vector<std::unique_ptr<scattered_memory>> all_;
};

}  // namespace freehca::loopback_traffic
