// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// GICv3 or GICv4, and its ITS, which translates what a device writes into an interrupt (LPI) by
// tables in memory: Arm IHI 0069H. Section 12.x there has the registers, 5.3 the commands.
#include "controller.hpp"
#include "its.hpp"

namespace freehca::bare {
namespace {

/// Distributor (12.9): affinity routing, group 1.
constexpr std::size_t distributor_on = 0x000, distributor_type = 0x004, disable = 0x180;
constexpr std::uint32_t routing_and_group_1 = 0x12, is_busy = 0x8000'0000;
constexpr std::uint32_t type_words_bits = 0x1f;

/// Redistributor (12.11), one for each processor, side by side. Its second frame has the
/// processor's own interrupts.
constexpr std::size_t redistributor_on = 0x000, redistributor_type = 0x008, waker = 0x014,
                      configuration = 0x070, pending = 0x078;
constexpr std::uint64_t has_virtual_frames = 2, is_last = 0x10, takes_lpis = 1;
constexpr std::uint64_t number_divisor = 0x100, number_bits = 0xffff;
constexpr std::uint64_t affinity_divisor = std::uint64_t{1} << 32;
constexpr std::size_t second_frame = std::size_t{64} << 10;
constexpr std::size_t frames_bytes = std::size_t{128} << 10;
constexpr std::uint32_t sleeps = 2, is_asleep = 4, lpis_on = 1;
constexpr std::uint64_t interrupt_bits_less_1 = 13;  // LPIs up to 16383
constexpr std::uint64_t pending_is_zero = std::uint64_t{1} << 62;
constexpr unsigned most_looks = 1'000'000;

constexpr unsigned first_lpi = 8192, last_lpi = 16383;
constexpr std::uint8_t enabled_in_the_middle = 0x81;  // priority 0x80, and enabled (5.1.1)

std::byte* redistributor;
std::uint64_t redistributor_address;

/// The processor's affinity as a redistributor's type has it.
std::uint64_t own_affinity() {
  std::uint64_t v = 0;
  __asm__("mrs %0, mpidr_el1" : "=r"(v));
  constexpr std::uint64_t lower = 0xff'ffff, upper = std::uint64_t{0xff} << 32;
  return (v & lower) | (v & upper) >> 8;
}

bool find_redistributor(const window& all) {
  std::uint64_t address = all.base;
  std::byte* at = map_registers(all);
  for (unsigned i = 0; at != nullptr && i < 512; ++i) {
    const std::uint64_t type = double_word(at + redistributor_type);
    if (type / affinity_divisor == own_affinity()) {
      redistributor = at;
      redistributor_address = address;
      return (type & takes_lpis) != 0;
    }
    if ((type & is_last) != 0) return false;
    const std::size_t step = frames_bytes << ((type & has_virtual_frames) != 0 ? 1 : 0);
    at += step;
    address += step;
  }
  return false;
}

/// What firmware left switched on has nobody here who would quieten it. Routing changes while
/// nothing is forwarded (12.9.4, GICD_CTLR).
void start_distributor(std::byte* distributor) {
  word(distributor + distributor_on) = 0;
  for (unsigned i = 0; i < most_looks; ++i)
    if ((word(distributor + distributor_on) & is_busy) == 0) break;
  word(distributor + distributor_on) = routing_and_group_1;
  const std::uint32_t words = (word(distributor + distributor_type) & type_words_bits) + 1;
  for (std::uint32_t i = 1; i < words; ++i) word(distributor + disable + 4 * i) = ~std::uint32_t{0};
  word(redistributor + second_frame + disable) = ~std::uint32_t{0};
}

bool wake() {
  word(redistributor + waker) = word(redistributor + waker) & ~sleeps;
  for (unsigned i = 0; i < most_looks; ++i)
    if ((word(redistributor + waker) & is_asleep) == 0) return true;
  return false;
}

/// LPIs are off: firmware that has them on has its own tables, which cannot be taken from it
/// (12.11.2, GICR_CTLR).
bool give_tables(std::byte* of_lpis, std::byte* of_pending) {
  if ((word(redistributor + redistributor_on) & lpis_on) != 0) return false;
  // All that may be used, while nothing has read them: a change behind that asks for INV (5.1.1).
  for (unsigned i = 0; i < most_messages; ++i) octet(of_lpis + i) = enabled_in_the_middle;
  double_word(redistributor + configuration) =
      reinterpret_cast<std::uintptr_t>(of_lpis) | its::cached_and_shared | interrupt_bits_less_1;
  double_word(redistributor + pending) =
      reinterpret_cast<std::uintptr_t>(of_pending) | its::cached_and_shared | pending_is_zero;
  if ((double_word(redistributor + configuration) & its::shared) == 0) return false;
  __asm__ __volatile__("dsb sy" ::: "memory");
  word(redistributor + redistributor_on) = word(redistributor + redistributor_on) | lpis_on;
  return true;
}

/// The processor interface by system registers, which the assembler knows by number alone where it
/// is told of no GIC: ICC_SRE_EL1, ICC_PMR_EL1, ICC_IGRPEN1_EL1.
void start_processor_interface() {
  const std::uint64_t one = 1, lowest = 0xff;
  __asm__ __volatile__(
      "msr s3_0_c12_c12_5, %0; isb; msr s3_0_c4_c6_0, %1; msr s3_0_c12_c12_7, %0; isb" ::"r"(one),
      "r"(lowest));
}

result<message> message_for(unsigned vector, unsigned requester) {
  FREEHCA_TRY(its::map_event(requester, vector, first_lpi + vector));
  return message{its::doorbell(), vector};
}

void take() {
  std::uint64_t number = 0;
  __asm__ __volatile__("mrs %0, s3_0_c12_c12_0; dsb sy" : "=r"(number)::"memory");  // ICC_IAR1_EL1
  if (number < first_lpi) {
    constexpr std::uint64_t special = 1020;
    if (number >= special) return;
  } else if (number <= last_lpi) {
    on_message(static_cast<unsigned>(number) - first_lpi);
  }
  __asm__ __volatile__("msr s3_0_c12_c12_1, %0" ::"r"(number) : "memory");  // ICC_EOIR1_EL1
}

constexpr controller by_its = {"LPIs by GICv3's ITS", message_for, take};
constexpr controller without = {"none: GICv3 has no ITS that this port can use", nullptr, nullptr};

}  // namespace

const controller* start_gicv3(const gic_registers& in, std::byte* tables) {
  std::byte* const distributor = map_registers(in.distributor);
  constexpr std::size_t unit = its::table_bytes;
  if (tables == nullptr || distributor == nullptr || !find_redistributor(in.redistributors) ||
      !wake())
    return &without;
  start_distributor(distributor);
  start_processor_interface();
  if (!give_tables(tables, tables + unit)) return &without;
  const std::uint64_t number =
      double_word(redistributor + redistributor_type) / number_divisor & number_bits;
  return its::start(in.messages, tables + 2 * unit, redistributor_address, number) ? &by_its
                                                                                   : &without;
}

}  // namespace freehca::bare
