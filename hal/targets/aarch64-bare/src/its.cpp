// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The interrupt translation service: Arm IHI 0069H, 12.19 (registers) and 5.3 (commands). One
// device, one collection, whose interrupts go to one processor. A device's number is its
// requester's, as PCI host bridges have it where "msi-map" says nothing else.
#include "its.hpp"

#include "controller.hpp"

namespace freehca::bare::its {
namespace {

constexpr std::size_t control = 0x000, kind = 0x008, queue = 0x080, written = 0x088, read = 0x090,
                      first_table = 0x100, translater = 0x1'0040;
constexpr unsigned tables_of_its = 8;
constexpr std::uint32_t on = 1, is_quiet = 0x8000'0000;
constexpr std::uint64_t valid = std::uint64_t{1} << 63;
/// Of the queue's and of tables' registers: cached for reads and writes.
constexpr std::uint64_t cached = std::uint64_t{7} << 59;
constexpr std::uint64_t table_kind_divisor = std::uint64_t{1} << 56, table_kind_bits = 7,
                        entry_divisor = std::uint64_t{1} << 48, entry_bits = 0x1f;
constexpr std::uint64_t of_devices = 1, of_collections = 4;
constexpr std::uint64_t page_shift = 0x100, page_bits = 3;  // 4, 16 or 64 KiB
constexpr std::uint64_t target_is_address = std::uint64_t{1} << 19;

constexpr std::uint64_t page = 4096;
constexpr unsigned most_looks = 1'000'000;
constexpr unsigned event_bits = 5;  // 32 events: more than most_messages
static_assert(most_messages <= 1u << event_bits);

enum class command : std::uint64_t { sync = 5, map_device = 8, map_collection = 9, map_event = 10 };
constexpr std::size_t command_bytes = 32;

std::byte* registers;
std::uint64_t registers_address;
std::byte* commands;
std::byte* events;
std::size_t next_command;
std::uint64_t target;
std::uint64_t devices;  // that the table has room for
unsigned mapped_device = ~0u;

status run(command what, std::uint64_t device, std::uint64_t second, std::uint64_t third) {
  std::byte* const at = commands + next_command;
  double_word(at) = static_cast<std::uint64_t>(what) | device << 32;
  double_word(at + 8) = second;
  double_word(at + 16) = third;
  double_word(at + 24) = 0;
  next_command = (next_command + command_bytes) % table_bytes;
  __asm__ __volatile__("dsb sy" ::: "memory");
  double_word(registers + written) = next_command;
  for (unsigned i = 0; i < most_looks; ++i)
    if (double_word(registers + read) == next_command) return {};
  return transport_error::timeout;
}

/// Pages as the ITS has them: it may know one size alone.
std::uint64_t table(std::byte* at, std::uint64_t pages_less_1, std::uint64_t size_of_page) {
  return valid | cached | reinterpret_cast<std::uintptr_t>(at) | shared |
         size_of_page * page_shift | pages_less_1;
}

bool give_table(std::size_t offset, std::byte* at) {
  constexpr std::uint64_t sizes[] = {page, 4 * page, 16 * page, 16 * page};
  double_word(registers + offset) = table(at, 0, 2);
  const std::uint64_t size = double_word(registers + offset) / page_shift & page_bits;
  double_word(registers + offset) = table(at, table_bytes / sizes[size] - 1, size);
  return (double_word(registers + offset) & shared) != 0;
}

}  // namespace

bool start(const window& in, std::byte* tables, std::uint64_t redistributor, std::uint64_t number) {
  registers_address = in.base;
  registers = map_registers(in);
  if (registers == nullptr) return false;
  word(registers + control) = word(registers + control) & ~on;
  unsigned looks = 0;
  while ((word(registers + control) & is_quiet) == 0)
    if (++looks == most_looks) return false;
  for (unsigned i = 0; i < tables_of_its; ++i) {
    const std::size_t offset = first_table + 8 * i;
    const std::uint64_t what = double_word(registers + offset);
    const std::uint64_t holds = what / table_kind_divisor & table_kind_bits;
    if (holds != of_devices && holds != of_collections) continue;
    if (holds == of_devices) devices = table_bytes / ((what / entry_divisor & entry_bits) + 1);
    if (!give_table(offset, holds == of_devices ? tables : tables + table_bytes)) return false;
  }
  commands = tables + 2 * table_bytes;
  events = tables + 3 * table_bytes;
  double_word(registers + queue) = valid | cached | reinterpret_cast<std::uintptr_t>(commands) |
                                   shared | (table_bytes / page - 1);
  if ((double_word(registers + queue) & shared) == 0) return false;
  double_word(registers + written) = 0;
  word(registers + control) = word(registers + control) | on;
  const bool by_address = (double_word(registers + kind) & target_is_address) != 0;
  constexpr std::uint64_t number_shift = 0x10000;
  target = by_address ? redistributor : number * number_shift;
  return run(command::map_collection, 0, 0, valid | target).ok();
}

status map_event(unsigned requester, unsigned event, unsigned interrupt) {
  if (requester >= devices || (mapped_device != ~0u && mapped_device != requester))
    return driver_error::unsupported;
  if (mapped_device == ~0u)
    FREEHCA_TRY(run(command::map_device, requester, event_bits - 1,
                    valid | reinterpret_cast<std::uintptr_t>(events)));
  mapped_device = requester;
  FREEHCA_TRY(run(command::map_event, requester, event | std::uint64_t{interrupt} << 32, 0));
  return run(command::sync, 0, 0, target);
}

std::uint64_t doorbell() {
  return registers_address + translater;
}

}  // namespace freehca::bare::its
