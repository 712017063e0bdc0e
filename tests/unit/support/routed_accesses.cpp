// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "support/routed_accesses.hpp"

#include <cstdlib>

namespace freehca::testing {
namespace {

access_listener* current = nullptr;

access_listener& listener() {
  if (current == nullptr) std::abort();
  return *current;
}

}  // namespace

access_listener::access_listener() {
  if (current != nullptr) std::abort();
  current = this;
}
access_listener::~access_listener() {
  current = nullptr;
}

}  // namespace freehca::testing

namespace freehca::routed {

using freehca::testing::listener;

void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  listener().dma_store(to, from, bytes);
}
void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  listener().dma_load(to, from, bytes);
}
std::uint32_t mmio_read_32(const std::byte* at) noexcept {
  std::byte word[4];
  listener().mmio_load(word, at, sizeof word);
  return layouts::load_be<std::uint32_t>(word);
}
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept {
  std::byte word[4];
  layouts::store_be(word, value);
  listener().mmio_store(at, word, sizeof word);
}
void mmio_write_64(std::byte* at, std::uint64_t value) noexcept {
  std::byte word[8];
  layouts::store_be(word, value);
  listener().mmio_store(at, word, sizeof word);
}
void passed_barrier(barrier::use which, const char* file, unsigned line) noexcept {
  listener().barrier(which, file, line);
}

}  // namespace freehca::routed
