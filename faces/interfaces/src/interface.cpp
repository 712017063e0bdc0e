// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/interface.hpp>

namespace freehca {

namespace {

bool same(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

status give(const offered_interface& from, interface_head* table, std::uint32_t bytes) {
  constexpr std::uint32_t head = sizeof(interface_head), step = sizeof(void*);
  const auto* const offered = reinterpret_cast<const std::byte*>(from.operations);
  const std::uint32_t both = from.bytes < bytes ? from.bytes : bytes;
  for (std::uint32_t at = head; at < table->needed; at += step) {
    std::uintptr_t operation = 0;
    if (at + step <= both) __builtin_memcpy(&operation, offered + at, step);
    if (operation == 0) return status(driver_error::unsupported, at);
  }
  auto* const to = reinterpret_cast<std::byte*>(table);
  __builtin_memcpy(to + head, offered + head, both - head);
  __builtin_memset(to + both, 0, bytes - both);
  table->bytes = both;
  return {};
}

}  // namespace

status find_interface(const offered_interface* const* among, std::size_t count, const char* name,
                      std::uint32_t version, interface_head* table, std::uint32_t bytes) {
  if (name == nullptr || table == nullptr || bytes < sizeof(interface_head) ||
      (bytes - sizeof(interface_head)) % sizeof(void*) != 0 || table->needed > bytes)
    return driver_error::bad_argument;
  unsigned lack = interface_lack::name;
  for (std::size_t i = 0; i < count; ++i) {
    if (!same(among[i]->name, name)) continue;
    if (among[i]->version == version) return give(*among[i], table, bytes);
    lack = interface_lack::version;
  }
  return status(driver_error::unsupported, lack);
}

}  // namespace freehca
