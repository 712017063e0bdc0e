// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where configuration space is (the table MCFG: PCI Firmware Specification 3.0, 4.1.2; root pointer
// and tables: ACPI 6.3, 5.2), and which addresses devices may have.
#include "x86.hpp"

namespace freehca::bare {

namespace {

constexpr std::uint64_t four_gib = std::uint64_t{1} << 32;
/// From here on interrupt controllers and firmware have theirs, in every PC.
constexpr std::uint64_t devices_end = 0xfec0'0000;
constexpr unsigned most_ranges = 64;
constexpr std::uint64_t all_buses = std::uint64_t{256} << 20;
constexpr const char* step = "looking for configuration space";

template <class T>
T load(const std::byte* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

constexpr std::size_t header_bytes = 36;
constexpr unsigned root_revision = 15, root_short = 16, root_long = 24;

/// A table that begins with its name and its length.
const std::byte* table_at(std::uint64_t address) {
  const std::byte* const at = machine::map(address, header_bytes, caching::device);
  return at == nullptr ? nullptr
                       : machine::map(address, load<std::uint32_t>(at + 4), caching::device);
}

constexpr char root_name[] = "RSD PTR ";
constexpr std::size_t root_name_bytes = 8, root_alignment = 16;

bool is_root(const std::byte* at) {
  return __builtin_memcmp(at, root_name, root_name_bytes) == 0;
}

/// Where the loader says; else where firmware leaves it for programs that no loader tells.
const std::byte* find_root() {
  const std::uint64_t told = x86::acpi_root();
  const std::byte* at = told == 0 ? nullptr : machine::map(told, header_bytes, caching::device);
  if (at != nullptr && is_root(at)) return at;
  constexpr std::uint64_t begin = 0xe'0000, end = 0x10'0000;
  at = machine::map(begin, end - begin, caching::device);
  for (std::uint64_t i = begin; i < end; i += root_alignment, at += root_alignment)
    if (is_root(at)) return at;
  return nullptr;
}

const std::byte* find_table(const char* name) {
  const std::byte* const pointer = find_root();
  if (pointer == nullptr) return nullptr;
  const bool wide = load<std::uint8_t>(pointer + root_revision) >= 2 &&
                    load<std::uint64_t>(pointer + root_long) != 0;
  const std::byte* const list =
      table_at(wide ? load<std::uint64_t>(pointer + root_long)
                    : std::uint64_t{load<std::uint32_t>(pointer + root_short)});
  if (list == nullptr) return nullptr;
  const std::size_t bytes = load<std::uint32_t>(list + 4), each = wide ? 8 : 4;
  for (std::size_t at = header_bytes; at + each <= bytes; at += each) {
    const std::byte* const table = table_at(wide ? load<std::uint64_t>(list + at)
                                                 : std::uint64_t{load<std::uint32_t>(list + at)});
    if (table != nullptr && __builtin_memcmp(table, name, 4) == 0) return table;
  }
  return nullptr;
}

bool taken_at(unsigned i, const window& ecam, window* to) {
  x86::memory_range range;
  if (i == 0) *to = ecam;
  else if (i == 1) *to = {devices_end, four_gib - devices_end};
  else if (i - 2 < most_ranges && x86::memory_range_at(i - 2, &range))
    *to = {range.base, range.bytes};
  else return false;
  return true;
}

/// The largest gap below 4 GiB between memory, configuration space and the devices of every PC.
window largest_gap(const window& ecam) {
  window best, from, other;
  for (unsigned i = 0; taken_at(i, ecam, &from); ++i) {
    const std::uint64_t begin = from.base + from.bytes;
    std::uint64_t end = devices_end;
    for (unsigned k = 0; taken_at(k, ecam, &other); ++k) {
      const std::uint64_t other_end = other.base + other.bytes;
      if (other.base <= begin && begin < other_end) end = begin;
      else if (other.base > begin && other.base < end) end = other.base;
    }
    if (end > begin && end - begin > best.bytes) best = {begin, end - begin};
  }
  return best;
}

/// False: the table tells nothing.
bool find_in_mcfg(pci_host* to) {
  constexpr std::size_t entry = header_bytes + 8;
  const std::byte* const mcfg = find_table("MCFG");
  if (mcfg == nullptr || load<std::uint32_t>(mcfg + 4) < entry + 16) return false;
  const unsigned first = load<std::uint8_t>(mcfg + entry + 10);
  const unsigned last = load<std::uint8_t>(mcfg + entry + 11);
  to->first_bus = first;
  to->ecam = {load<std::uint64_t>(mcfg + entry) + (std::uint64_t{first} << 20),
              std::uint64_t{last - first + 1} << 20};
  return true;
}

/// Where a host bridge's method _CBA returns a constant (PCI Firmware Specification 3.0, 4.1.3;
/// byte code: ACPI 6.3, 20.2): machines without the table have it, as QEMU's microvm.
bool find_in_byte_code(pci_host* to) {
  constexpr std::size_t dsdt_place = 40;
  constexpr std::uint8_t return_code = 0xa4, constant_32 = 0x0c, constant_64 = 0x0e;
  const std::byte* const fixed = find_table("FACP");
  const std::byte* const dsdt =
      fixed == nullptr ? nullptr : table_at(load<std::uint32_t>(fixed + dsdt_place));
  if (dsdt == nullptr) return false;
  const std::size_t bytes = load<std::uint32_t>(dsdt + 4);
  constexpr std::size_t method_bytes = 4 + 1 + 1 + 1 + 8;  // name, flags, return, prefix, value
  for (std::size_t at = header_bytes; at + method_bytes <= bytes; ++at) {
    const std::byte* const name = dsdt + at;
    if (__builtin_memcmp(name, "_CBA", 4) != 0 || load<std::uint8_t>(name + 5) != return_code)
      continue;
    const auto prefix = load<std::uint8_t>(name + 6);
    if (prefix != constant_32 && prefix != constant_64) continue;
    to->ecam = {prefix == constant_64 ? load<std::uint64_t>(name + 7)
                                      : std::uint64_t{load<std::uint32_t>(name + 7)},
                all_buses};
    return true;
  }
  return false;
}

}  // namespace

trouble machine::find_pci(pci_host* to) noexcept {
  if (!find_in_mcfg(to) && !find_in_byte_code(to))
    return {step, "ACPI tells of no PCI Express: no table MCFG, and no _CBA",
            "the machine needs PCI Express (QEMU: -M q35, or -M microvm,pcie=on)",
            driver_error::unsupported};
  to->memory = largest_gap(to->ecam);
  return {};
}

}  // namespace freehca::bare
