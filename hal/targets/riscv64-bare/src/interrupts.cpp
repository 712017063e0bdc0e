// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Messages as interrupts: the hart's interrupt file for machine level (IMSIC). Numbers: The RISC-V
// Advanced Interrupt Architecture 1.0, chapters 2 and 3. The registers have no names in the
// assembler of Debian 12.
#include "interrupts.hpp"

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>

namespace freehca::bare {
namespace {

using device_tree::node;

/// Indirect registers of the interrupt file (3.8).
constexpr std::uint64_t delivery = 0x70, threshold = 0x72, enable_first = 0xc0;
constexpr std::uint64_t file_bytes = 4096;
/// Of mie and mcause: an external interrupt at machine level.
constexpr std::uint64_t external = 11;
constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;

/// Identity 0 is none.
constexpr unsigned first_identity = 1;

std::uint64_t file_address;
unsigned identities;  // that the file has; 0: there is no file
const char* text = "not yet looked for";

void write_file(std::uint64_t which, std::uint64_t value) {
  __asm__ __volatile__("csrw 0x350, %0; csrw 0x351, %1" ::"r"(which), "r"(value) : "memory");
}
void enable(std::uint64_t bits) {
  __asm__ __volatile__("csrw 0x350, %0; csrs 0x351, %1" ::"r"(enable_first), "r"(bits) : "memory");
}

/// What stands in mtopei, which says the highest that is pending; it no longer is.
std::uint64_t claim() {
  std::uint64_t top = 0;
  __asm__ __volatile__("csrrw %0, 0x35c, zero" : "=r"(top)::"memory");
  return top;
}

/// How the tree names the hart as one that takes interrupts (Linux
/// Documentation/devicetree/bindings/interrupt-controller/riscv,cpu-intc.yaml).
status find_hart(const device_tree::tree& in, std::uint64_t hart, std::uint32_t* handle) {
  node n(in);
  bool is_this = false;
  for (;;) {
    FREEHCA_TRY(n.next());
    if (n.property("device_type").is("cpu"))
      is_this = n.property("reg").number(0, n.parent_address_cells()) == hart;
    if (!is_this || !n.is_compatible("riscv,cpu-intc")) continue;
    *handle = n.cell("phandle", 0);
    return {};
  }
}

/// Its file among those of all harts (riscv,imsics.yaml): they stand side by side, in the order of
/// "interrupts-extended".
status find_file(const device_tree::tree& in, std::uint64_t hart) {
  std::uint32_t handle = 0;
  FREEHCA_TRY(find_hart(in, hart, &handle));
  node n(in);
  for (;;) {
    FREEHCA_TRY(n.next());
    if (!n.is_compatible("riscv,imsics") || !n.is_enabled()) continue;
    const device_tree::bytes harts = n.property("interrupts-extended");
    for (std::size_t i = 0; 2 * i + 1 < harts.cells(); ++i) {
      if (harts.cell(2 * i) != handle || harts.cell(2 * i + 1) != external) continue;
      device_tree::window files;
      FREEHCA_TRY(n.reg(0, files));
      if ((i + 1) * file_bytes > files.bytes) return driver_error::unsupported;
      file_address = files.base + i * file_bytes;
      identities = n.cell("riscv,num-ids", 63);
      return {};
    }
  }
}

}  // namespace

void start_interrupts(const device_tree::tree& in, std::uint64_t hart) noexcept {
  if (!find_file(in, hart).ok()) {
    text = "none: the hart has no interrupt file (IMSIC) for machine level";
    return;
  }
  write_file(delivery, 1);
  write_file(threshold, 0);
  write_file(enable_first, 0);
  __asm__ __volatile__("csrs mie, %0" ::"r"(std::uint64_t{1} << external));
  text = "the hart's interrupt file for machine level (IMSIC)";
}

const char* machine::messages_text() noexcept {
  return text;
}

result<message> machine::message_for(unsigned vector, unsigned) noexcept {
  const unsigned identity = first_identity + vector;
  if (identity > identities || vector >= most_messages) return status(driver_error::unsupported);
  enable(std::uint64_t{1} << identity);
  __asm__ __volatile__("csrsi mstatus, 0x8" ::: "memory");  // MIE
  return message{file_address, identity};
}

}  // namespace freehca::bare

extern "C" void freehca_bare_interrupt(std::uint64_t cause) noexcept {
  using namespace freehca::bare;
  if (cause != (top_bit | external)) return;
  constexpr std::uint64_t identity_divisor = 0x10000;
  while (const std::uint64_t identity = claim() / identity_divisor)
    on_message(static_cast<unsigned>(identity) - first_identity);
}

extern "C" [[noreturn]] void freehca_bare_exception(std::uint64_t cause, std::uint64_t from,
                                                    std::uint64_t address, bool nested) noexcept {
  using namespace freehca::bare;
  static bool again = false;
  // What failed while this was told is not told.
  if (again) machine::stop(false);
  again = true;
  {
    line to("EXCEPTION");
    to << (nested ? "a fault in a handler: mcause " : "a fault: mcause ") << cause << ", at ";
    to.hex(from) << ", address ";
    to.hex(address);
  }
  fault();
}
