// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/memory_region.hpp>

#include <freehca/hca/kinds/memory_region.hpp>

#include "in_room.hpp"

namespace freehca {

namespace {

/// The attributes of a memory region, as an attribute list has them.
struct region_attributes {
  pd_handle domain;
  const std::uint64_t* page_addresses = nullptr;
  std::uint64_t device_address = ~std::uint64_t{0};  // not given: no region begins there
  std::uint64_t bytes = 0;
  std::uint32_t first_offset = 0;
  std::uint32_t log_page_bytes = 12;
  std::uint64_t virtual_address = 0;
  memory_access access;
  std::byte* memory = nullptr;
};

constexpr auto known = attributes_of<region_attributes>({
    required(FREEHCA_ATTRIBUTE(region_attributes, domain, mr::domain)),
    FREEHCA_ATTRIBUTE(region_attributes, page_addresses, mr::page_addresses),
    FREEHCA_ATTRIBUTE(region_attributes, device_address, mr::device_address),
    required(FREEHCA_ATTRIBUTE(region_attributes, bytes, mr::bytes)),
    FREEHCA_ATTRIBUTE(region_attributes, first_offset, mr::first_offset),
    FREEHCA_ATTRIBUTE(region_attributes, log_page_bytes, mr::log_page_bytes),
    FREEHCA_ATTRIBUTE(region_attributes, virtual_address, mr::virtual_address),
    FREEHCA_ATTRIBUTE(region_attributes, access.local_write, mr::local_write),
    FREEHCA_ATTRIBUTE(region_attributes, access.remote_read, mr::remote_read),
    FREEHCA_ATTRIBUTE(region_attributes, access.remote_write, mr::remote_write),
    FREEHCA_ATTRIBUTE(region_attributes, access.remote_atomic, mr::remote_atomic),
    FREEHCA_ATTRIBUTE(region_attributes, memory, mr::memory),
});

// Refuses attributes from which no list of pages can be made. The kind checks the others.
status pages_of(const region_attributes& a, page_list& to) {
  constexpr driver_error bad = driver_error::bad_argument;
  if (a.log_page_bytes < 12 || a.log_page_bytes > 31)
    return status(bad, mr::log_page_bytes.identifier);
  const std::uint64_t page = std::uint64_t{1} << a.log_page_bytes;
  // The size, rounded up to pages, would not fit into 64 bits.
  if (a.bytes > ~std::uint64_t{0} - 2 * page) return status(bad, mr::bytes.identifier);
  if (a.first_offset >= page) return status(bad, mr::first_offset.identifier);
  const bool contiguous = a.device_address != ~std::uint64_t{0};
  if (contiguous) {
    const bool wraps = a.bytes != 0 && a.device_address > ~std::uint64_t{0} - (a.bytes - 1);
    if (a.page_addresses != nullptr || wraps) return status(bad, mr::device_address.identifier);
    if (a.first_offset != 0) return status(bad, mr::first_offset.identifier);
    dma_region memory;
    memory.device_address = a.device_address;
    memory.bytes = static_cast<std::size_t>(a.bytes);
    to = page_list(memory, a.log_page_bytes);
    return {};
  }
  if (a.page_addresses == nullptr)
    return status(driver_error::missing_attribute, mr::page_addresses.identifier);
  to = page_list(a.page_addresses, a.log_page_bytes, a.first_offset, a.bytes);
  return {};
}

status create(verbs& in, operation_room& room, const attribute_list& list) {
  region_attributes a;
  FREEHCA_TRY(read(list, known, a));
  memory_region_attributes attributes;
  if (a.memory == nullptr) FREEHCA_TRY(pages_of(a, attributes.pages));
  else if (a.page_addresses != nullptr || a.device_address != ~std::uint64_t{0})
    return status(driver_error::bad_argument, mr::memory.identifier);
  else attributes.memory = {a.memory, static_cast<std::size_t>(a.bytes)};
  attributes.pd = a.domain;
  attributes.virtual_address = a.virtual_address;
  attributes.access = a.access;
  return interfaces::create<memory_region>(in, room, attributes);
}

constexpr memory_region_interface operations{
    .create = &create,
    .made = &interfaces::made<memory_region>,
    .destroy = &interfaces::destroy<memory_region>,
    .key = &key_of,
};

}  // namespace

constexpr offered_interface memory_region_offered = interfaces::offered(operations);

}  // namespace freehca
