// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_process/host_memory_map.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include "host_block.hpp"

namespace freehca::in_process {

namespace {
constexpr std::size_t page = 4096;
}  // namespace

void host_memory_map::free_aligned::operator()(std::byte* p) const {
  host_block::free(p);
}

host_memory_map::owned host_memory_map::allocate_host(std::size_t bytes, std::size_t alignment) {
  return owned(host_block::allocate(bytes, std::max(alignment, page)));
}

std::uint64_t host_memory_map::add(const mapping& what, std::size_t alignment, std::size_t offset) {
  const std::uint64_t address = next_address_ + ((offset - next_address_) & (alignment - 1));
  // Leaves a hole behind each mapping. An access beyond its end is refused and does not reach the
  // next mapping.
  next_address_ = address + (what.bytes + page - 1) / page * page + page;
  mapped_.emplace(address, what);
  return address;
}

std::uint64_t host_memory_map::map(std::byte* memory, std::size_t bytes, std::size_t alignment) {
  return add({memory, bytes}, alignment, 0);
}

std::uint64_t host_memory_map::map_program(std::byte* memory, std::size_t bytes, bool write,
                                           bool similar) {
  constexpr std::size_t largest = std::size_t{1} << 30;
  const std::size_t alignment = std::bit_ceil(std::clamp(bytes, 2 * page, largest));
  const auto at = reinterpret_cast<std::uintptr_t>(memory) ^ (similar ? 0 : page);
  return add({memory, bytes, write, true}, alignment, at % alignment);
}

bool host_memory_map::unmap(std::uint64_t device_address) {
  return mapped_.erase(device_address) != 0;
}

host_memory_map::found host_memory_map::look_up(std::uint64_t address, std::size_t bytes) const {
  auto next = mapped_.upper_bound(address);
  if (next == mapped_.begin()) return {};
  --next;
  const mapping& in = next->second;
  const std::uint64_t offset = address - next->first;
  if (offset > in.bytes || bytes > in.bytes - offset) return {};
  return {in.memory + offset, in.write, in.of_program};
}

dma_region host_memory_map::allocate(std::size_t bytes, std::size_t alignment) {
  owned block = allocate_host(bytes, alignment);
  const dma_region region{block.get(), map(block.get(), bytes, std::max(alignment, page)), bytes};
  owned_.emplace(block.get(), std::move(block));
  return region;
}

void host_memory_map::release(const dma_region& block) {
  unmap(block.device_address);
  owned_.erase(block.host);
}

host_memory_map::scattered_pages host_memory_map::allocate_scattered(std::size_t count) {
  owned block = allocate_host(std::max<std::size_t>(count, 1) * page, page);
  scattered_pages pages{block.get(), std::vector<std::uint64_t>(count)};
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t i : order) pages.addresses[i] = map(block.get() + i * page, page);
  owned_.emplace(block.get(), std::move(block));
  return pages;
}

void host_memory_map::release(const scattered_pages& pages) {
  for (const std::uint64_t a : pages.addresses) unmap(a);
  owned_.erase(pages.memory);
}

}  // namespace freehca::in_process
