// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the vectors call: messages, whichever controller brings them, and mistakes.
#include "interrupts.hpp"

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>

#include "controller.hpp"

namespace freehca::bare {
namespace {

constexpr controller unknown = {"none: this port knows GICv2 and GICv3, and of neither here",
                                nullptr, nullptr};

const controller* used = &unknown;
void (*on_no_debugger)() noexcept;

}  // namespace

void start_interrupts(const gic_registers& in, std::byte* tables) noexcept {
  const controller* found = nullptr;
  if (in.which == gic_registers::version::v2) found = start_gicv2(in);
  if (in.which == gic_registers::version::v3) found = start_gicv3(in, tables);
  if (found != nullptr) used = found;
}

void expect_no_debugger(void (*go_on)() noexcept) noexcept {
  on_no_debugger = go_on;
}

const char* machine::messages_text() noexcept {
  return used->text;
}

result<message> machine::message_for(unsigned vector, unsigned requester) noexcept {
  if (used->message_for == nullptr || vector >= most_messages)
    return status(driver_error::unsupported);
  const result<message> m = used->message_for(vector, requester);
  if (m.ok()) __asm__ __volatile__("msr daifclr, #2" ::: "memory");
  return m;
}

}  // namespace freehca::bare

extern "C" void freehca_bare_interrupt() noexcept {
  freehca::bare::used->take();
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
