// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Messages as interrupts: GICv2 (Arm IHI 0048B) and its frame that turns a write into a shared
// peripheral interrupt, GICv2m (Arm SBSA 3.0, appendix E; Linux 6.1
// drivers/irqchip/irq-gic-v2m.c). Nothing has to be built in memory for it, unlike for GICv3's ITS.
#include "interrupts.hpp"

#include <initializer_list>

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>

namespace freehca::bare {
namespace {

using device_tree::node;

/// Distributor (4.3), by offset; one bit or one field of 2 or 8 bits for each interrupt.
constexpr std::size_t distributor_on = 0x000, distributor_type = 0x004, enable = 0x100,
                      disable = 0x180, priority = 0x400, target = 0x800, trigger = 0xc00;
/// Processor interface (4.4).
constexpr std::size_t interface_on = 0x000, lowest_priority = 0x004, acknowledge = 0x00c,
                      end = 0x010;
constexpr std::uint32_t interrupt_bits = 0x3ff, spurious = 1020;
constexpr std::uint32_t type_words_bits = 0x1f;
constexpr std::uint8_t middle_priority = 0x80;

/// The frame.
constexpr std::size_t frame_type = 0x008, frame_set = 0x040;
constexpr std::uint32_t frame_count_bits = 0x3ff, frame_first_divisor = 0x10000;

std::byte* distributor;
std::byte* interface;
std::uint64_t frame_address;
unsigned first_interrupt, interrupts;  // of the frame
const char* text = "not yet looked for";
void (*on_no_debugger)() noexcept;

volatile std::uint32_t& word(std::byte* at) {
  return *static_cast<volatile std::uint32_t*>(static_cast<void*>(at));
}
volatile std::uint8_t& octet(std::byte* at) {
  return *reinterpret_cast<volatile std::uint8_t*>(at);
}

std::byte* map_registers(const node& n, unsigned index, std::uint64_t* address) {
  device_tree::window w;
  if (!n.reg(index, w).ok()) return nullptr;
  *address = w.base;
  return machine::map(w.base, w.bytes, caching::device);
}

bool find_controller(const device_tree::tree& in) {
  for (const char* name : {"arm,cortex-a15-gic", "arm,gic-400", "arm,cortex-a7-gic"}) {
    node n;
    if (!in.find_compatible(name, n).ok()) continue;
    std::uint64_t address = 0;
    distributor = map_registers(n, 0, &address);
    interface = map_registers(n, 1, &address);
    return distributor != nullptr && interface != nullptr;
  }
  return false;
}

bool find_frame(const device_tree::tree& in) {
  node n;
  if (!in.find_compatible("arm,gic-v2m-frame", n).ok()) return false;
  std::byte* const frame = map_registers(n, 0, &frame_address);
  if (frame == nullptr) return false;
  const std::uint32_t type = word(frame + frame_type);
  first_interrupt = n.cell("arm,msi-base-spi", type / frame_first_divisor & interrupt_bits);
  interrupts = n.cell("arm,msi-num-spis", type & frame_count_bits);
  return first_interrupt >= 32 && interrupts != 0;
}

/// Raised by an edge, taken by this processor. The first 32 targets are the processor's own, and
/// read as it.
void let_in(unsigned interrupt) {
  volatile std::uint32_t& edges = word(distributor + trigger + interrupt / 16 * 4);
  edges = edges | 2u << interrupt % 16 * 2;
  octet(distributor + priority + interrupt) = middle_priority;
  octet(distributor + target + interrupt) = octet(distributor + target);
  word(distributor + enable + interrupt / 32 * 4) = 1u << interrupt % 32;
}

}  // namespace

void start_interrupts(const device_tree::tree& in) noexcept {
  if (!find_controller(in)) {
    text = "none: this port knows messages by GICv2 and GICv2m alone; event queues are polled";
    return;
  }
  if (!find_frame(in)) {
    text = "none: the GICv2 has no frame for messages (GICv2m); event queues are polled";
    return;
  }
  // What firmware left switched on has nobody here who would quieten it.
  const std::uint32_t words = (word(distributor + distributor_type) & type_words_bits) + 1;
  for (std::uint32_t i = 0; i < words; ++i) word(distributor + disable + 4 * i) = ~std::uint32_t{0};
  word(distributor + distributor_on) = 1;
  word(interface + lowest_priority) = 0xff;
  word(interface + interface_on) = 1;
  text = "shared peripheral interrupts by GICv2m";
}

void expect_no_debugger(void (*go_on)() noexcept) noexcept {
  on_no_debugger = go_on;
}

const char* machine::messages_text() noexcept {
  return text;
}

result<message> machine::message_for(unsigned vector, unsigned) noexcept {
  if (vector >= interrupts || vector >= most_messages) return status(driver_error::unsupported);
  let_in(first_interrupt + vector);
  __asm__ __volatile__("msr daifclr, #2" ::: "memory");
  return message{frame_address + frame_set, first_interrupt + vector};
}

}  // namespace freehca::bare

extern "C" void freehca_bare_interrupt() noexcept {
  using namespace freehca::bare;
  const std::uint32_t taken = word(interface + acknowledge);
  const std::uint32_t number = taken & interrupt_bits;
  if (number >= spurious) return;
  if (number - first_interrupt < interrupts) on_message(number - first_interrupt);
  word(interface + end) = taken;
}

extern "C" [[noreturn]] void freehca_bare_exception(unsigned kind, std::uint64_t syndrome,
                                                    std::uint64_t from,
                                                    std::uint64_t address) noexcept {
  using namespace freehca::bare;
  static bool again = false;
  if (on_no_debugger != nullptr) on_no_debugger();
  // What failed while this was told is not told.
  if (again) machine::stop(false);
  again = true;
  constexpr const char* kinds[] = {"a fault", "an interrupt", "a fast interrupt", "a system error"};
  {
    line to("EXCEPTION");
    to << kinds[kind % 4] << (kind / 4 == 1 ? " in a handler" : "") << ": ESR_EL1 ";
    to.hex(syndrome) << ", at ";
    to.hex(from) << ", address ";
    to.hex(address);
  }
  fault();
}
