// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/loopback_traffic/scattered_memory.hpp>

#include <algorithm>
#include <numeric>
#include <random>

#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>

namespace freehca::loopback_traffic {

namespace {

bool has_neighbours(const std::vector<std::size_t>& order) {
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i] == order[i - 1] + 1) return true;
  return false;
}

}  // namespace

status scattered_memory::allocate(const platform& from, std::size_t bytes, std::uint64_t seed) {
  release();
  const std::size_t count = whole_pages(bytes) / page;
  FREEHCA_TRY(from.operations->allocate_dma(from.context, count * page, page, &block_));
  platform_ = from;
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // About one order in three has no neighbours in it, however many pages there are.
  std::mt19937_64 random(seed);
  do std::shuffle(order_.begin(), order_.end(), random);
  while (has_neighbours(order_));
  for (const std::size_t n : order_) addresses_.push_back(block_.device_address + n * page);
  return {};
}

void scattered_memory::release() {
  if (block_.host != nullptr) platform_.operations->free_dma(platform_.context, block_);
  block_ = {};
  order_.clear();
  addresses_.clear();
}

void scattered_memory::store(std::size_t offset, const std::byte* from, std::size_t bytes) {
  while (bytes != 0) {
    const std::size_t piece = std::min(bytes, page - offset % page);
    dma::store_bytes(at(offset), from, piece);
    cache::clean(at(offset), piece);
    offset += piece;
    from += piece;
    bytes -= piece;
  }
}

void scattered_memory::load(std::size_t offset, std::byte* to, std::size_t bytes) const {
  while (bytes != 0) {
    const std::size_t piece = std::min(bytes, page - offset % page);
    cache::invalidate(at(offset), piece);
    dma::load_bytes(to, at(offset), piece);
    offset += piece;
    to += piece;
    bytes -= piece;
  }
}

result<scattered_memory*> traffic_memory::allocate(const platform& from, std::size_t bytes) {
  all_.push_back(std::make_unique<scattered_memory>());
  if (const status s = all_.back()->allocate(from, bytes, all_.size()); !s.ok()) {
    all_.pop_back();
    return s;
  }
  return all_.back().get();
}

}  // namespace freehca::loopback_traffic
