// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// GICv2 (Arm IHI 0048B) and its frame that turns a write into a shared peripheral interrupt, GICv2m
// (Arm SBSA 3.0, appendix E; Linux 6.1 drivers/irqchip/irq-gic-v2m.c). Nothing has to be built in
// memory for it.
#include "controller.hpp"

namespace freehca::bare {
namespace {

/// Offsets in the distributor (4.3). distributor_on and distributor_type are one register each. The
/// others are arrays with 1, 2 or 8 bits for each interrupt.
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

bool find_controller(const gic_registers& in) {
  distributor = map_registers(in.distributor);
  interface = map_registers(in.interface);
  return distributor != nullptr && interface != nullptr;
}

bool find_frame(const gic_registers& in) {
  std::byte* const frame = map_registers(in.messages);
  if (frame == nullptr) return false;
  frame_address = in.messages.base;
  const std::uint32_t type = word(frame + frame_type);
  first_interrupt =
      in.first_message != 0 ? in.first_message : type / frame_first_divisor & interrupt_bits;
  interrupts = in.messages_count != 0 ? in.messages_count : type & frame_count_bits;
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

result<message> message_for(unsigned vector, unsigned) {
  if (vector >= interrupts) return status(driver_error::unsupported);
  let_in(first_interrupt + vector);
  return message{frame_address + frame_set, first_interrupt + vector};
}

void take() {
  const std::uint32_t taken = word(interface + acknowledge);
  const std::uint32_t number = taken & interrupt_bits;
  if (number >= spurious) return;
  if (number - first_interrupt < interrupts) on_message(number - first_interrupt);
  word(interface + end) = taken;
}

constexpr controller by_frame = {"shared peripheral interrupts by GICv2m", message_for, take};
constexpr controller without = {"none: the GICv2 has no frame for messages (GICv2m)", nullptr,
                                nullptr};

}  // namespace

const controller* start_gicv2(const gic_registers& in) {
  if (!find_controller(in)) return nullptr;
  if (!find_frame(in)) return &without;
  // What firmware left switched on has nobody here who would quieten it.
  const std::uint32_t words = (word(distributor + distributor_type) & type_words_bits) + 1;
  for (std::uint32_t i = 0; i < words; ++i) word(distributor + disable + 4 * i) = ~std::uint32_t{0};
  word(distributor + distributor_on) = 1;
  word(interface + lowest_priority) = 0xff;
  word(interface + interface_on) = 1;
  return &by_frame;
}

}  // namespace freehca::bare
