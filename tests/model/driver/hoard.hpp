// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <freehca/hca/device.hpp>

namespace freehca::testing {

/// All that a device has left: pages, doorbell records and object numbers, taken by somebody else
/// while commands are in doubt. What the firmware may still touch must not be among it.
class hoard {
 public:
  explicit hoard(device& from) : device_(from) {
    for (dma_arena* arena : {&device_.arena(), &device_.contexts().arena()})
      for (;;) {
        const result<dma_region> page = arena->allocate(dma_arena::page);
        if (!page.ok()) break;
        std::memset(page.value().host, mark, page.value().bytes);
        pages_.push_back(page.value());
        addresses_.push_back(page.value().device_address);
      }
    for (;;) {
      const result<dma_region> record = device_.doorbells().allocate(64);
      if (!record.ok()) break;
      std::memset(record.value().host, mark, record.value().bytes);
      records_.push_back(record.value());
    }
    number_spaces& n = device_.numbers();
    space_ = {{&n.qps, 1, {}},
              {&n.srqs, 1, {}},
              {&n.cqs, 1, {}},
              {&n.eqs, 1, {}},
              {&n.mpts, 1, {}},
              {&n.pds, 1, {}},
              {&n.mtts, 1u << number_spaces::log_mtt_unit, {}}};
    for (taken& t : space_)
      for (;;) {
        const result<std::uint32_t> number = t.from->allocate(t.unit);
        if (!number.ok()) break;
        t.numbers.push_back(number.value());
      }
    std::sort(addresses_.begin(), addresses_.end());
    for (taken& t : space_) std::sort(t.numbers.begin(), t.numbers.end());
  }
  ~hoard() { give_back(); }
  hoard(const hoard&) = delete;
  hoard& operator=(const hoard&) = delete;

  /// Before the device closes what it was taken from.
  void give_back() {
    for (dma_arena* arena : {&device_.arena(), &device_.contexts().arena()})
      for (const dma_region& p : pages_)
        if (arena->is_out(p.device_address)) arena->free(p);
    for (const dma_region& r : records_) device_.doorbells().free(r);
    for (taken& t : space_)
      for (const std::uint32_t number : t.numbers) t.from->free(number, t.unit);
    pages_.clear();
    records_.clear();
    space_.clear();
  }

  std::size_t pages() const { return pages_.size(); }
  bool has_page(std::uint64_t device_address) const {
    return std::binary_search(addresses_.begin(), addresses_.end(),
                              device_address / dma_arena::page * dma_arena::page);
  }
  bool has_eq(std::uint32_t number) const { return space_[3].has(number); }
  bool has_translation(std::uint32_t number) const { return space_[6].has(number); }
  /// Nobody wrote into any of it.
  bool untouched() const {
    // A run of one byte equals itself moved by one.
    for (const auto* regions : {&pages_, &records_})
      for (const dma_region& r : *regions)
        if (r.host[0] != std::byte{mark} || std::memcmp(r.host, r.host + 1, r.bytes - 1) != 0)
          return false;
    return true;
  }

 private:
  static constexpr unsigned char mark = 0x5c;
  struct taken {
    number_allocator* from;
    std::uint32_t unit;
    std::vector<std::uint32_t> numbers;
    bool has(std::uint32_t number) const {
      return std::binary_search(numbers.begin(), numbers.end(), number / unit * unit);
    }
  };
  device& device_;
  std::vector<dma_region> pages_, records_;
  std::vector<std::uint64_t> addresses_;
  std::vector<taken> space_;
};

}  // namespace freehca::testing
