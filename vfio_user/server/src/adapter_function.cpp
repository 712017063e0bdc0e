// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "adapter_function.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "without_exceptions.hpp"

namespace freehca::device_server {

using vfio_user::bar0_region;
using vfio_user::bar2_region;
using vfio_user::configuration_region;

namespace {

constexpr unsigned widest_access = 8;

// The size of the widest access, a power of two, that is aligned and does not exceed the end.
unsigned piece_at(std::uint64_t offset, std::size_t left, unsigned widest) {
  unsigned size = widest;
  while (size > left || offset % size != 0) size /= 2;
  return size;
}

std::uint64_t big_endian(std::span<const std::byte> from) {
  std::uint64_t value = 0;
  for (const std::byte b : from) value = value << 8 | std::to_integer<std::uint64_t>(b);
  return value;
}

void put_big_endian(std::span<std::byte> to, std::uint64_t value) {
  for (std::size_t i = to.size(); i-- > 0; value >>= 8) to[i] = static_cast<std::byte>(value);
}

}  // namespace

bool adapter_function::is_in_msix(std::uint64_t offset, std::uint64_t begin,
                                  std::uint64_t bytes) const {
  return space_.has_msix() && offset >= begin && offset - begin < bytes;
}

std::uint64_t adapter_function::region_bytes(std::uint32_t region) const {
  switch (region) {
    case bar0_region:
      return register_bar_bytes;
    case bar2_region:
      return how_.model.uar_bar_bytes;
    case configuration_region:
      return configuration_space::bytes;
    default:
      return 0;
  }
}

void adapter_function::read_region(std::uint32_t region, std::uint64_t offset,
                                   std::span<std::byte> to) {
  const bool configuration = region == configuration_region;
  while (!to.empty()) {
    const unsigned size = piece_at(offset, to.size(), configuration ? 4 : widest_access);
    if (configuration) {
      const std::uint32_t value = read_configuration(static_cast<unsigned>(offset), size);
      for (unsigned i = 0; i < size; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
    } else {
      put_big_endian(to.first(size), read_bar(region, offset, size));
    }
    offset += size;
    to = to.subspan(size);
  }
}

void adapter_function::write_region(std::uint32_t region, std::uint64_t offset,
                                    std::span<const std::byte> from) {
  const bool configuration = region == configuration_region;
  while (!from.empty()) {
    const unsigned size = piece_at(offset, from.size(), configuration ? 4 : widest_access);
    const std::uint64_t value = big_endian(from.first(size));
    if (configuration) {
      std::uint32_t little = 0;
      for (unsigned i = 0; i < size; ++i)
        little |= std::to_integer<std::uint32_t>(from[i]) << (8 * i);
      write_configuration(static_cast<unsigned>(offset), little, size);
    } else {
      write_bar(region, offset, value, size);
    }
    offset += size;
    from = from.subspan(size);
  }
}

// The model's registers are big-endian: the first byte on the bus is the most significant one.
std::uint64_t adapter_function::read_bar(std::uint32_t region, std::uint64_t offset,
                                         unsigned size) {
  if (!answers_memory()) return ~std::uint64_t{0};
  return region == bar0_region ? read_registers(offset, size)
                               : freehca_model_read_uar(model_, offset, size);
}

void adapter_function::write_bar(std::uint32_t region, std::uint64_t offset, std::uint64_t value,
                                 unsigned size) {
  if (!answers_memory()) return;
  if (region == bar0_region) write_registers(offset, value, size);
  else freehca_model_write_uar(model_, offset, value, size);
}

std::uint64_t adapter_function::read_registers(std::uint64_t offset, unsigned size) {
  std::array<std::byte, widest_access> bytes;
  const std::span part = std::span(bytes).first(size);
  if (is_in_msix(offset, msix_table_at, msix_table_bytes)) {
    std::memcpy(bytes.data(), &interrupts_.table()[offset - msix_table_at], size);
    return big_endian(part);
  }
  if (is_in_msix(offset, msix_pending_at, msix_pending_bytes)) {
    for (unsigned i = 0; i < size; ++i)
      bytes[i] =
          std::byte{interrupts_.pending_byte(static_cast<unsigned>(offset - msix_pending_at) + i)};
    return big_endian(part);
  }
  return freehca_model_read_registers(model_, offset, size);
}

void adapter_function::write_registers(std::uint64_t offset, std::uint64_t value, unsigned size) {
  if (is_in_msix(offset, msix_table_at, msix_table_bytes)) {
    std::array<std::byte, widest_access> bytes;
    put_big_endian(std::span(bytes).first(size), value);
    std::memcpy(&interrupts_.table()[offset - msix_table_at], bytes.data(), size);
  } else if (!is_in_msix(offset, msix_pending_at, msix_pending_bytes)) {
    freehca_model_write_registers(model_, offset, value, size);
  }
}

void adapter_function::reset(bool function_level) {
  space_.reset(function_level);
  interrupts_.reset();
  freehca_model_reset(model_);
  interrupts_.registers_changed();
}

// The BARs keep their addresses. Reads of a removed function return all ones.
void adapter_function::remove(bool removed) {
  if (removed == removed_) return;
  if (removed) freehca_model_reset(model_);
  removed_ = removed;
  if (!removed) reset(false);
}

void adapter_function::make_doorbell_pages() {
  if (!how_.polled_doorbells) return;
  if (const int why = doorbells_.begin(how_.model.uar_bar_bytes); why != 0)
    report(fmt::format("--doorbells polled: no memory to share: {}; this client's are messages",
                       std::strerror(why)));
}

bool adapter_function::adopt_doorbell_pages(vfio_user::descriptor file,
                                            doorbell_pages::doorbells what) {
  return !file.open() || doorbells_.adopt(std::move(file), how_.model.uar_bar_bytes, what) == 0;
}

void adapter_function::go_on_after_death(
    const std::array<std::uint8_t, configuration_space::bytes>& space) {
  space_.restore(space);
  freehca_model_fail(model_);
  interrupts_.registers_changed();
}

std::vector<std::byte> adapter_function::save_model() {
  struct call {
    std::vector<std::byte> state;
    bool complete = false;
  } c;
  freehca_model_save(
      model_,
      [](void* to, const void* from, std::size_t bytes) {
        call& all = *static_cast<call*>(to);
        const auto* first = static_cast<const std::byte*>(from);
        all.complete = without_exceptions([&] { all.state.assign(first, first + bytes); });
      },
      &c);
  if (!c.complete) throw std::bad_alloc();
  return std::move(c.state);
}

// The saved adapter may have found its cables full. It is told that they have room.
std::string adapter_function::load_model(std::span<const std::byte> from) {
  std::array<char, 512> why;
  loading_ = true;
  const bool loaded = freehca_model_load(model_, from.data(), from.size(), why.data(), why.size());
  loading_ = false;
  if (!loaded) return why.data();
  for (std::size_t i = 0; i < full_.size(); ++i) full_[i] = cables_[i] != nullptr;
  interrupts_.registers_changed();
  return "";
}

void adapter_function::run_turn() {
  deadline_ = ~std::uint64_t{0};
  freehca_model_on_timer(model_);
}

std::uint64_t adapter_function::counter(const char* name) const {
  const char* found = nullptr;
  std::uint64_t value = 0;
  for (unsigned i = 0; freehca_model_counter(model_, i, &found, &value); ++i)
    if (std::strcmp(found, name) == 0) return value;
  return 0;
}

}  // namespace freehca::device_server
