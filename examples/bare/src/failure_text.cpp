// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Prints the reason for a failed bring-up, and the remedy.
#include <freehca/bare/console.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/texts/names.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

namespace {

constexpr const char* power_cycle =
    "switch the machine's power off and on; if that does not help, "
    "read the registers above";

constexpr const char* no_memory_access =
    "the adapter does not reach memory, or answers wrongly: look for an IOMMU that firmware left "
    "on, for bus mastering in the bridges above, and for the device addresses of memory";

/// Uses describe(), which prints the name after a firmware status, so that the image contains the
/// names only once.
void put_name(line& to, unsigned opcode) {
  char text[100];
  describe(status(layouts::command_status::internal_error, opcode), text, sizeof text);
  const char* name = text;
  for (const char* at = text; *at != '\0'; ++at)
    if (at[0] == ' ' && at[1] == 'a' && at[2] == 't' && at[3] == ' ') name = at + 4;
  to << name;
}

/// In a sequence, the place of a transport error is an opcode.
void put_cause(line& to, status cause) {
  if (cause.who() != origin::transport || cause.where() == 0) {
    to << cause;
    return;
  }
  to << cause.at(0) << " at ";
  put_name(to, cause.where());
}

const char* remedy_for(const sequence_failure& f, status cause, const device_info& i) {
  if (cause.is(driver_error::busy))
    return f.step == bring_up_step::take_ownership || f.step == bring_up_step::reset
               ? "another owner holds its semaphore. If that owner is dead, put take_over on the "
                 "command line"
               : power_cycle;
  if (cause.is(driver_error::exceeds_limits) || cause.is(driver_error::no_memory))
    return "give the image a larger budget (freehca/hca/budget.hpp)";
  // The command succeeded, but its mailbox has no data: the adapter's write did not arrive.
  if (f.step == bring_up_step::query_fw && i.command_interface == 0 &&
      cause.who() != origin::firmware)
    return no_memory_access;
  if (cause.is(driver_error::unsupported) && f.step == bring_up_step::query_fw)
    return "its command interface must have revision 3: burn another firmware";
  if (cause.is(transport_error::gone))
    return "the adapter reads as all ones or has an internal error: look at the error buffer, then "
           "power it off and on";
  if (cause.is(transport_error::bad_reply)) return no_memory_access;
  if (cause.is(transport_error::timeout) && f.step == bring_up_step::use_events)
    return "the command's event did not come: look at MSI-X and at whether the adapter can write "
           "memory";
  if (cause.is(transport_error::timeout)) return power_cycle;
  if (cause.who() == origin::firmware)
    return "see the status in docs/hardware-bring-up.md, and try a newer firmware";
  return "no remedy is known: send this output to the project";
}

}  // namespace

registers registers::now(const port& in) {
  return {in.function().space.read(pci_space::command),
          mmio::read_32(in.bar(0), layouts::bar0::hcr_status)};
}

void tell_registers(const port& in, const device& of, const registers& said) {
  {
    line to("registers");
    to << "PCI command ";
    to.hex(said.pci_command & 0xffff, 4) << ", status ";
    to.hex(said.pci_command >> 16, 4) << ", hardware ";
    to.hex(mmio::read_32(in.bar(0), layouts::bar0::hardware_id), 8);
  }

  std::byte bytes[layouts::hcr::bytes] = {};
  for (unsigned i = 0; i < 4; ++i)
    bytes[0x18 + i] = static_cast<std::byte>(said.command_word >> (24 - 8 * i) & 0xff);
  const auto hcr = layouts::image<layouts::hcr>::from_bytes(bytes);
  {
    line to("command");
    put_name(to, static_cast<unsigned>(hcr.get<&layouts::hcr::opcode>()));
    to << (hcr.get<&layouts::hcr::go>() ? ", GO set: the firmware has it" : ", GO clear")
       << ", status ";
    to.hex(static_cast<unsigned>(hcr.get<&layouts::hcr::status>()), 2) << ", word ";
    to.hex(said.command_word, 8);
  }

  const device_info i = of.info();
  if (i.error_buffer_words == 0) {
    line("errors") << "the error buffer is not known before QUERY_FW has told its place";
    return;
  }
  const mmio_region& bar = in.bar(i.error_buffer_bar);
  const std::uint32_t first = mmio::read_32(bar, i.error_buffer);
  line("errors") << "error buffer: "
                 << (first == 0                   ? "no internal error"
                     : first == ~std::uint32_t{0} ? "all ones: the adapter does not answer"
                                                  : "INTERNAL ERROR of the adapter");
  if (first == 0 || first == ~std::uint32_t{0}) return;
  for (std::uint32_t w = 0; w < i.error_buffer_words && w < 16; w += 4) {
    line to("");
    for (std::uint32_t k = w; k < w + 4 && k < i.error_buffer_words; ++k)
      to.hex(mmio::read_32(bar, i.error_buffer + 4 * k), 8) << " ";
  }
}

void step_times::tell_failure(status outcome) const {
  const sequence_failure& f = device_.failure();
  const status cause = f.cause.ok() ? outcome : f.cause;
  {
    line to("FAILED");
    to << "at " << name_of(f.step) << ": ";
    put_cause(to, cause);
    if (cause.is(driver_error::exceeds_limits))
      to << ", " << f.asked << " " << name_of(static_cast<budget::item>(cause.where())) << " of "
         << f.bound;
  }
  const bool by_command = !failed_.outcome.ok();
  tell_registers(port_, device_, by_command ? then_ : registers::now(port_));
  line("remedy") << remedy_for(f, cause, device_.info());
}

}  // namespace freehca::bare
