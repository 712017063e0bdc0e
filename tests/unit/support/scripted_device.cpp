// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "support/scripted_device.hpp"

#include <cstdlib>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>

namespace freehca::testing {
namespace {
scripted_device* current = nullptr;
using layouts::hcr;
}  // namespace

scripted_device::scripted_device() {
  current = this;
  operations_.now = [](void* self) { return static_cast<scripted_device*>(self)->now; };
  operations_.trace = [](void* self, const trace_record& record) {
    static_cast<scripted_device*>(self)->traces.push_back(record);
  };
}
scripted_device::~scripted_device() {
  current = nullptr;
}

dma_region scripted_device::memory(std::size_t bytes) {
  std::vector<std::byte>& block = memory_.emplace_back(bytes + 4096, std::byte{0xa5});
  const std::size_t skip = (4096 - reinterpret_cast<std::uintptr_t>(block.data()) % 4096) % 4096;
  regions_.push_back({block.data() + skip, next_address_, bytes});
  next_address_ += (bytes + 0xffff) / 0x10000 * 0x10000 + 0x10000;
  return regions_.back();
}

std::byte* scripted_device::host_of(std::uint64_t address) {
  for (const dma_region& r : regions_)
    if (address >= r.device_address && address - r.device_address < r.bytes)
      return r.host + (address - r.device_address);
  return nullptr;
}

std::uint32_t scripted_device::read(std::size_t offset) {
  if (++reads == answers_before_read) answer();
  return all_ones ? ~std::uint32_t{0} : layouts::load_be<std::uint32_t>(register_ + offset);
}

void scripted_device::write(std::size_t offset, std::uint32_t value) {
  layouts::store_be(register_ + offset, value);
  if (offset != hcr{}.go.offset) return;
  posted_command& c = posted.emplace_back();
  c.words = layouts::image<hcr>::from_bytes(register_);
  if (const std::byte* box = host_of(c.get<&hcr::in_param>()); box != nullptr)
    c.input.assign(box, box + 4096);
  if (c.get<&hcr::e>() ? takes_at_once : answers_at_once) clear_go(0);
}

void scripted_device::answer(std::uint8_t status, std::uint64_t output_immediate) {
  auto words = layouts::image<hcr>::from_bytes(register_);
  words.set<&hcr::out_param>(output_immediate);
  std::memcpy(register_, words.data(), sizeof register_);
  clear_go(status);
}

void scripted_device::clear_go(std::uint8_t status) {
  auto words = layouts::image<hcr>::from_bytes(register_);
  words.set<&hcr::go>(false).set<&hcr::status>(static_cast<layouts::command_status>(status));
  std::memcpy(register_, words.data(), sizeof register_);
}

}  // namespace freehca::testing

namespace freehca::routed {

using freehca::testing::current;

std::uint32_t mmio_read_32(const std::byte* at) noexcept {
  if (current == nullptr || !current->is_register(at)) std::abort();
  return current->read(current->offset_of(at));
}
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept {
  if (current == nullptr || !current->is_register(at)) std::abort();
  current->write(current->offset_of(at), value);
}
void mmio_write_64(std::byte*, std::uint64_t) noexcept {
  std::abort();
}
void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

}  // namespace freehca::routed
