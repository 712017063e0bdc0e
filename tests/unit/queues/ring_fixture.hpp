// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory for rings and a UAR page, with functions by which a test acts as the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/queues/cq.hpp>

namespace freehca::testing {

class ring_memory {
 public:
  explicit ring_memory(std::size_t bytes) : words_(bytes / 8 + 1) {}
  dma_region region(std::size_t bytes) { return {at(0), 0x4000'0000, bytes}; }
  std::byte* at(std::size_t offset) { return reinterpret_cast<std::byte*>(words_.data()) + offset; }
  template <class Layout>
  layouts::image<Layout> read(std::size_t offset) {
    return layouts::image<Layout>::from_bytes(at(offset));
  }
  std::uint32_t word(std::size_t offset) { return layouts::load_be<std::uint32_t>(at(offset)); }
  template <class Image>
  void write(std::size_t offset, const Image& from) {
    std::memcpy(at(offset), from.data(), Image::bytes);
  }

 private:
  std::vector<std::uint64_t> words_;
};

class doorbell_page {
 public:
  mmio_region region() { return {memory_.at(0), layouts::uar::page_size}; }
  std::uint32_t word(std::size_t offset) { return memory_.word(offset); }
  void clear() { std::memset(memory_.at(0), 0, layouts::uar::page_size); }

 private:
  ring_memory memory_{layouts::uar::page_size};
};

/// Takes at most `most` completions, each with a poll of one, and calls take(completion) for each
/// before the next poll. Returns the number of completions.
template <class Take>
unsigned poll_each(queues::cq& from, unsigned most, Take&& take) {
  queues::work_completion each;
  unsigned taken = 0;
  for (; taken != most && from.poll(&each, 1) == 1; ++taken)
    take(static_cast<const queues::work_completion&>(each));
  return taken;
}

}  // namespace freehca::testing
