// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "verdict.hpp"

#include <cerrno>

#include <fmt/format.h>

#include <freehca/blocking/words.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/query_fw.hpp>
#include <freehca/texts/names.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

#include "print.hpp"
#include "size.hpp"

namespace freehca::hcactl {

using vfio_host::failure;
using vfio_host::trouble;

failure verdict(const tool_host& host, blocking::session& driver, status s, const char* doing,
                const std::string& address) {
  const easy::sizes& size = driver.size();
  return verdict({.outcome = s,
                  .failed = driver.adapter().hardware().failure(),
                  .interrupted = host.interrupted(),
                  .wanted_back = host.wanted_back(),
                  .refusal = host.last_refusal(),
                  .locked_bytes = host.locked_bytes(),
                  .memory_bytes = device::storage_bytes(size.budget) +
                                  verbs::storage_bytes(size.budget, size.objects),
                  .command_interface = driver.adapter().hardware().info().command_interface,
                  .sized = sized(size.budget),
                  .size = size.budget,
                  .can = driver.adapter().hardware().capabilities()},
                 doing, address);
}

namespace {

// In the library the place of a transport error is a number whose meaning only the caller knows.
// Here it is the opcode of a command, both for causes of sequences (sequence_failure) and for
// operations in traffic. Refusals of the platform have their own code.
std::string words(status cause) {
  if (cause.who() != origin::transport || cause.is(transport_error::refused) || cause.where() == 0)
    return blocking::words(cause);
  return blocking::words(cause.at(0)) + " at " +
         layouts::name_of(static_cast<layouts::opcode>(cause.where()));
}

// Only two steps read a semaphore. In all other steps driver_error::busy means that the device has
// not released a resource.
failure held(bring_up_step step, const std::string& at, const std::string& address) {
  const bool flash = step == bring_up_step::reset;
  if (flash || step == bring_up_step::take_ownership)
    return {
        trouble::owned,
        fmt::format("{0} has an owner: its {1} semaphore is held, by another program, or by one "
                    "that died; when you know that nobody uses it: {2}",
                    address, flash ? "flash" : "ownership", command_line_for("reset", address))};
  return {trouble::device_gone,
          fmt::format("{0}: {1} holds on to {2}; try {3}, then a power cycle", at, address,
                      step == bring_up_step::map_reserved
                          ? "context memory that it was lent and should have given back"
                          : "something that an earlier command should have ended",
                      command_line_for("reset", address))};
}

// The message if the failure comes from the driver's sizes, which the user may have set. Empty if
// it does not.
std::string too_large_or_small(const circumstances& of, status cause, const std::string& at,
                               const std::string& address) {
  const auto what = static_cast<budget::item>(cause.where());
  if (of.failed.cause.ok()) {
    if (!cause.is(driver_error::no_memory) || what != budget::item::storage) return {};
    return fmt::format(
        "{}: the tables want {} MB of this machine's memory, which it does not give; smaller "
        "--size NAME=LOG need less",
        at, (of.memory_bytes + 999'999) / 1'000'000);
  }
  if (of.failed.step == bring_up_step::plan_context && cause.is(driver_error::bad_argument)) {
    if (const std::string limit = size_limit(what, of.size, of.can); !limit.empty())
      return fmt::format("{}: {}: {}", at, address, limit);
    if (const std::string name = size_name(what); !name.empty())
      return fmt::format(
          "{0}: {1} cannot have so many, or so few, {2}: it has a limit, and keeps some for "
          "itself ({4}); --size {3}=LOG for more, or less",
          at, address, name_of(what), name, command_line_for("info", address, "--reset"));
    return fmt::format("{}: {} cannot have tables of these sizes ({}); smaller --size NAME=LOG", at,
                       address, cause.where() == 0 ? "all together" : name_of(what));
  }
  if (!of.sized) return {};
  // Only the auxiliary area depends on the tables' sizes. The firmware's own area does not, so its
  // size is not a consequence of the user's options.
  if (cause.is(driver_error::exceeds_limits) && what == budget::item::auxiliary_area)
    return fmt::format(
        "{}: for tables of these sizes {} wants {} {}, and this program has {}; smaller --size "
        "NAME=LOG need less",
        at, address, of.failed.asked, name_of(what), of.failed.bound);
  if (cause.is(driver_error::no_memory) || cause.is(driver_error::no_resource))
    return fmt::format(
        "{}: tables of these sizes want more {} than this program has; smaller "
        "--size NAME=LOG need less",
        at, name_of(what));
  if (cause.is(layouts::command_status::exceeds_limits))
    return fmt::format("{}: tables of these sizes are more than {} allows; smaller --size NAME=LOG",
                       at, address);
  return {};
}

}  // namespace

failure verdict(const circumstances& of, const char* doing, const std::string& address) {
  // A failed sequence names its step, and the cause of the step's failure.
  const bool in_sequence = !of.failed.cause.ok();
  const status cause = in_sequence ? of.failed.cause : of.outcome;
  const std::string at =
      in_sequence ? fmt::format("{}, {}", doing, name_of(of.failed.step)) : doing;
  if (of.outcome.is(driver_error::cancelled) && of.wanted_back)
    return {
        trouble::wanted_back,
        fmt::format("the kernel wants {0} back, since it is unbound from vfio-pci or unplugged; "
                    "{0} was given back",
                    address)};
  if (of.outcome.is(driver_error::cancelled) && of.interrupted)
    return {trouble::interrupted, fmt::format("interrupted; {} was given back", address)};
  if (in_sequence && cause.is(driver_error::busy)) return held(of.failed.step, at, address);
  if (const std::string why = too_large_or_small(of, cause, at, address); !why.empty())
    return {trouble::system, why};
  if (in_sequence && cause.is(driver_error::exceeds_limits))
    return {trouble::firmware_error,
            fmt::format("{}: the firmware of {} asks for {} {}, and this program has {}; this is "
                        "no firmware for such "
                        "an adapter, or a broken one",
                        at, address, of.failed.asked,
                        name_of(static_cast<budget::item>(cause.where())), of.failed.bound)};
  if (in_sequence && of.failed.step == bring_up_step::query_fw &&
      cause.is(driver_error::unsupported))
    return {trouble::firmware_error,
            fmt::format("{}: the firmware of {} has revision {} of the command interface, and this "
                        "program knows {}: {}",
                        at, address, of.command_interface, layouts::cmd_interface_rev_max,
                        of.command_interface < layouts::cmd_interface_rev_max
                            ? "it is too old; burn a newer one (mstflint)"
                            : "it is newer; look for a newer program")};
  if (cause.is(transport_error::timeout))
    return {trouble::firmware_silent,
            fmt::format("{}: the firmware of {} does not answer ({}); try {}, then a power cycle",
                        at, address, words(cause), command_line_for("reset", address))};
  if (cause.who() == origin::firmware)
    return {trouble::firmware_error,
            fmt::format("{}: the firmware of {} refuses: {}", at, address, words(cause))};
  if (cause.is(transport_error::gone) || cause.is(transport_error::reset) ||
      cause.is(transport_error::bad_reply))
    return {trouble::device_gone,
            fmt::format("{}: {} is gone or broken: {}; try {}, then a power cycle", at, address,
                        words(cause), command_line_for("reset", address))};
  if (cause.is(transport_error::refused)) {
    if (cause.where() == ENOMEM)
      return {trouble::locked_memory_limit,
              fmt::format("{}: {}; {}", at, of.refusal, vfio_host::how_to_lock(of.locked_bytes))};
    return {trouble::system, fmt::format("{}: the kernel refused: {}", at, of.refusal)};
  }
  return {trouble::system, fmt::format("{}: {}", at, words(cause))};
}

}  // namespace freehca::hcactl
