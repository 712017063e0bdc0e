// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Exceptions, and messages by the local APIC (Intel SDM volume 3, chapters 6 and 10).
#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>

#include "x86.hpp"

namespace freehca::bare {
namespace {

struct [[gnu::packed]] task_state {
  std::uint32_t reserved_0;
  std::uint64_t stacks[3];
  std::uint64_t reserved_1;
  std::uint64_t interrupt_stacks[7];
  std::uint64_t reserved_2;
  std::uint16_t reserved_3;
  std::uint16_t io_map;
};
static_assert(sizeof(task_state) == 104);

struct gate {
  std::uint16_t offset_low, selector;
  std::uint16_t kind;  // the stack, and what it is
  std::uint16_t offset_middle;
  std::uint32_t offset_high, reserved;
};
static_assert(sizeof(gate) == 16);

struct [[gnu::packed]] table_pointer {
  std::uint16_t limit;
  std::uint64_t base;
};

struct exception_frame {
  std::uint64_t vector, error, ip, cs, flags, sp, ss;
};

constexpr unsigned exceptions = 32, first_message = 0x30, spurious = 0x4f, gates = 0x50;
constexpr std::uint16_t code_selector = 8, task_selector = 24;
constexpr std::uint16_t interrupt_gate_on_stack_1 = 0x8e01;
constexpr std::size_t entry_bytes = 8;

constexpr std::uint32_t apic_base = 0x1b;
constexpr std::uint64_t apic_on = 1u << 11, apic_in_x2_mode = 1u << 10;
constexpr unsigned apic_id = 0x20, end_of_interrupt = 0xb0, spurious_vector = 0xf0;
constexpr std::uint32_t apic_enable = 1u << 8;
constexpr std::uint32_t cpu_has_apic = 1u << 9;
constexpr std::uint64_t message_address = 0xfee0'0000;

task_state task;
gate interrupt_table[gates];
std::byte* apic = nullptr;
const char* text = "not asked for";

volatile std::uint32_t& apic_register(unsigned offset) {
  return *static_cast<volatile std::uint32_t*>(static_cast<void*>(apic + offset));
}

void set_gate(unsigned vector, const std::byte* to) {
  const auto at = reinterpret_cast<std::uintptr_t>(to);
  interrupt_table[vector] = {static_cast<std::uint16_t>(at),
                             code_selector,
                             interrupt_gate_on_stack_1,
                             static_cast<std::uint16_t>(at >> 16),
                             static_cast<std::uint32_t>(at >> 32),
                             0};
}

/// Null: it is on. Else why not.
const char* start_apic() {
  if (apic != nullptr) return nullptr;
  if ((x86::cpuid(1).d & cpu_has_apic) == 0) return "the processor has no local APIC";
  const std::uint64_t base = x86::read_msr(apic_base);
  if ((base & apic_on) == 0) return "firmware switched the local APIC off";
  if ((base & apic_in_x2_mode) != 0) return "firmware left the local APIC in x2APIC mode";
  std::byte* const at = machine::map(base & ~std::uint64_t{0xfff}, 4096, caching::device);
  if (at == nullptr) return "the local APIC cannot be mapped";
  // The PICs are of no use here, and would interrupt at the vectors of exceptions.
  x86::out8(0x21, 0xff);
  x86::out8(0xa1, 0xff);
  apic = at;
  apic_register(spurious_vector) = apic_enable | spurious;
  __asm__ __volatile__("sti" ::: "memory");
  return nullptr;
}

}  // namespace
}  // namespace freehca::bare

extern "C" {
extern const std::byte freehca_x86_exceptions[], freehca_x86_messages[], freehca_x86_spurious[];
extern std::uint64_t freehca_x86_gdt[];

[[noreturn]] void freehca_x86_exception(const freehca::bare::exception_frame* of,
                                        std::uint64_t address) {
  using freehca::bare::line;
  static bool again = false;
  // What failed while this was told is not told.
  if (again) freehca::bare::machine::stop(false);
  again = true;
  {
    line to("EXCEPTION");
    to << of->vector << " at ";
    to.hex(of->ip, 16) << ", error code " << of->error;
  }
  {
    line to("registers");
    to << "address ";
    to.hex(address, 16) << ", stack pointer ";
    to.hex(of->sp, 16);
  }
  freehca::bare::fault();
}

void freehca_x86_message(std::uint64_t vector) {
  freehca::bare::on_message(static_cast<unsigned>(vector));
  freehca::bare::apic_register(freehca::bare::end_of_interrupt) = 0;
}
}

namespace freehca::bare {

void x86::start_interrupts() {
  task.interrupt_stacks[0] = reinterpret_cast<std::uintptr_t>(freehca_bare_interrupt_stack_high);
  task.io_map = sizeof task;
  const auto base = reinterpret_cast<std::uintptr_t>(&task);
  constexpr std::uint64_t available_task = 0x89;
  freehca_x86_gdt[3] = (sizeof task - 1) | (base & 0xff'ffff) << 16 | available_task << 40 |
                       (base >> 24 & 0xff) << 56;
  freehca_x86_gdt[4] = base >> 32;
  __asm__ __volatile__("ltr %0" ::"r"(task_selector));

  for (unsigned i = 0; i < exceptions; ++i) set_gate(i, freehca_x86_exceptions + i * entry_bytes);
  for (unsigned i = 0; i < most_messages; ++i)
    set_gate(first_message + i, freehca_x86_messages + i * entry_bytes);
  set_gate(spurious, freehca_x86_spurious);
  const table_pointer to{sizeof interrupt_table - 1,
                         reinterpret_cast<std::uintptr_t>(interrupt_table)};
  __asm__ __volatile__("lidt %0" ::"m"(to) : "memory");
}

result<message> machine::message_for(unsigned vector, unsigned) noexcept {
  if (vector >= most_messages) return status(driver_error::bad_argument);
  if (const char* const why = start_apic(); why != nullptr) {
    text = why;
    return status(driver_error::unsupported);
  }
  text = "MSI-X to the local APIC";
  return message{message_address | (apic_register(apic_id) >> 24) << 12, first_message + vector};
}

const char* machine::messages_text() noexcept {
  return text;
}

}  // namespace freehca::bare
