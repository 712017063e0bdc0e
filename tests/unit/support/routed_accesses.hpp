// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The routed accessors end at whoever listens: one at a time, since the accessors are functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::testing {

/// Memory and registers as plain bytes, big-endian; what derives from it sees each access first.
class access_listener {
 public:
  access_listener();
  virtual ~access_listener();
  access_listener(const access_listener&) = delete;
  access_listener& operator=(const access_listener&) = delete;

  virtual void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
  }
  virtual void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
  }
  virtual void mmio_load(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
  }
  virtual void mmio_store(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
  }
  virtual void barrier(barrier::use, const char* /*file*/, unsigned /*line*/) {}
};

}  // namespace freehca::testing
