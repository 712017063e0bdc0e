// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <freehca/hal/dma.hpp>

namespace freehca::in_process {

/// The host's memory as the bus sees it. Device addresses have nothing to do with host pointers,
/// blocks are apart from each other, and what is not mapped is not there.
class host_memory_map {
 public:
  explicit host_memory_map(std::uint64_t seed) : random_(seed) {}

  /// Makes memory of the caller visible; gives its device address, a multiple of `alignment`.
  std::uint64_t map(std::byte* memory, std::size_t bytes, std::size_t alignment = 4096);
  /// Makes whole pages of the program visible, which it may unmap at any time. The device address
  /// agrees with the pointer in the low bits: in 12 of them if `similar` is false. The device may
  /// write if `write` is true.
  std::uint64_t map_program(std::byte* memory, std::size_t bytes, bool write, bool similar);
  /// False: no such mapping.
  bool unmap(std::uint64_t device_address);
  /// Memory as the device finds it.
  struct found {
    std::byte* at = nullptr;  ///< null: it is not in one mapping
    bool write = false;       ///< the device may write it
    bool of_program = false;  ///< made by map_program()
  };
  /// The memory at [address, address + bytes), which must lie in one mapping.
  found look_up(std::uint64_t address, std::size_t bytes) const;
  std::byte* find(std::uint64_t address, std::size_t bytes) const {
    return look_up(address, bytes).at;
  }

  /// Zeroed memory that the map owns, visible until release().
  dma_region allocate(std::size_t bytes, std::size_t alignment);
  void release(const dma_region& block);

  /// `count` pages of 4 KiB whose order and place are shuffled, so that no two are neighbours for
  /// the device; the map owns them. Page i of the host buffer `memory` (contiguous) is at
  /// addresses[i].
  struct scattered_pages {
    std::byte* memory = nullptr;
    std::vector<std::uint64_t> addresses;
  };
  scattered_pages allocate_scattered(std::size_t count);
  void release(const scattered_pages& pages);

  std::size_t mappings() const { return mapped_.size(); }

 private:
  struct mapping {
    std::byte* memory;
    std::size_t bytes;
    bool write = true;
    bool of_program = false;
  };
  std::uint64_t add(const mapping& what, std::size_t alignment, std::size_t offset);
  struct free_aligned {
    void operator()(std::byte* p) const;
  };
  using owned = std::unique_ptr<std::byte[], free_aligned>;
  static owned allocate_host(std::size_t bytes, std::size_t alignment);

  std::mt19937_64 random_;
  std::uint64_t next_address_ = std::uint64_t{5} << 32;
  std::map<std::uint64_t, mapping> mapped_;
  std::map<std::byte*, owned> owned_;
};

}  // namespace freehca::in_process
