// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "verdict.hpp"

#include <cerrno>

#include <fmt/format.h>

#include <freehca/verified_traffic/report.hpp>

namespace freehca::hcactl {

using vfio_host::failure;
using vfio_host::trouble;

failure verdict(const vfio_surroundings& host, verified_traffic::session& on, status s,
                const char* doing, const std::string& address) {
  // A failed sequence names its step; the cause is what the step met.
  const sequence_failure& where = on.adapter().failure();
  const bool in_sequence = !where.cause.ok();
  const status cause = in_sequence ? where.cause : s;
  const std::string at =
      in_sequence ? fmt::format("{}, {}", doing, device::step_name(where.step)) : doing;
  if (s.is(driver_error::cancelled) && host.interrupted())
    return {trouble::interrupted, fmt::format("interrupted; {} was given back", address)};
  if (cause.is(driver_error::busy) && where.step == bring_up_step::take_ownership)
    return {trouble::owned, fmt::format("{0} has an owner: its ownership semaphore is held, by "
                                        "another program, or by one that died; "
                                        "when you know that nobody uses it: hcactl reset {0}",
                                        address)};
  if (cause.is(transport_error::timeout))
    return {
        trouble::firmware_silent,
        fmt::format(
            "{}: the firmware of {} does not answer ({}); try hcactl reset {}, then a power cycle",
            at, address, verified_traffic::words(cause), address)};
  if (cause.who() == origin::firmware)
    return {trouble::firmware_error, fmt::format("{}: the firmware of {} refuses: {}", at, address,
                                                 verified_traffic::words(cause))};
  if (cause.is(transport_error::gone) || cause.is(transport_error::reset) ||
      cause.is(transport_error::bad_reply))
    return {trouble::device_gone,
            fmt::format("{}: {} is gone or broken: {}; try hcactl reset {}, then a power cycle", at,
                        address, verified_traffic::words(cause), address)};
  if (cause.is(transport_error::refused)) {
    if (cause.where() == ENOMEM)
      return {trouble::locked_memory_limit,
              fmt::format("{}: {}; {}", at, host.device().last_refusal(),
                          vfio_host::how_to_lock(host.device().locked_bytes()))};
    return {trouble::system,
            fmt::format("{}: the kernel refused: {}", at, host.device().last_refusal())};
  }
  return {trouble::system, fmt::format("{}: {}", at, verified_traffic::words(cause))};
}

}  // namespace freehca::hcactl
