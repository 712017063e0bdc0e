// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The accessors of the flavour registers_routed.
#include <freehca/hal/mmio.hpp>
#include <freehca/in_program/adapter.hpp>

namespace freehca::routed {

namespace {

constexpr std::uint32_t absent = ~std::uint32_t{0};

void write(const std::byte* at, std::uint64_t value, unsigned bytes) {
  in_program::adapter* const present = in_program::adapter::present();
  unsigned bar;
  std::size_t offset;
  if (present != nullptr && present->find(at, bar, offset))
    present->mmio_write(bar, offset, value, bytes);
}

}  // namespace

std::uint32_t mmio_read_32(const std::byte* at) noexcept {
  in_program::adapter* const present = in_program::adapter::present();
  unsigned bar;
  std::size_t offset;
  if (present == nullptr || !present->find(at, bar, offset)) return absent;
  return present->mmio_read_32(bar, offset);
}
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept {
  write(at, value, 4);
}
void mmio_write_64(std::byte* at, std::uint64_t value) noexcept {
  write(at, value, 8);
}

}  // namespace freehca::routed
