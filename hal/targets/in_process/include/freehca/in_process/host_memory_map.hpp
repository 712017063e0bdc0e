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

/// The host's memory as an adapter sees it by DMA. Device addresses have no relation to host
/// pointers, except those of map_program(). There is a hole behind each mapping, so that an access
/// beyond its end finds no memory.
class host_memory_map {
 public:
  explicit host_memory_map(std::uint64_t seed) : random_(seed) {}

  /// Makes memory of the caller visible until unmap(). Returns its device address, a multiple of
  /// `alignment` (a power of two).
  std::uint64_t map(std::byte* memory, std::size_t bytes, std::size_t alignment = 4096);
  /// Makes whole pages of the program visible until unmap(). The program may unmap the pages from
  /// its own address space at any time. The low bits of the device address and of the pointer
  /// agree, as many as the size allows. If `similar` is false, bit 12 differs. If `write` is false,
  /// the device may only read.
  std::uint64_t map_program(std::byte* memory, std::size_t bytes, bool write, bool similar);
  /// Returns false if there is no such mapping.
  bool unmap(std::uint64_t device_address);
  /// A place in host memory, found by its device address.
  struct found {
    std::byte* at = nullptr;  ///< null: not within one mapping
    bool write = false;       ///< the device may write it
    bool of_program = false;  ///< made by map_program()
  };
  /// Finds the memory at [address, address + bytes), which must be within one mapping.
  found look_up(std::uint64_t address, std::size_t bytes) const;
  std::byte* find(std::uint64_t address, std::size_t bytes) const {
    return look_up(address, bytes).at;
  }

  /// Allocates zeroed memory that the map owns. The memory is visible until release(). It is
  /// aligned to `alignment`, and at least to 4096. Throws std::bad_alloc.
  dma_region allocate(std::size_t bytes, std::size_t alignment);
  void release(const dma_region& block);

  /// `count` pages of 4 KiB at device addresses in random order. No two pages are adjacent for the
  /// device. Page i of the contiguous host buffer `memory` has the device address addresses[i]. The
  /// map owns the pages until release().
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
