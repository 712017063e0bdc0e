// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>
#include <string>

#include <freehca/blocking/session.hpp>
#include <freehca/vfio_host/failure.hpp>

#include "tool_host.hpp"

namespace freehca::hcactl {

/// A failure, with the facts that its message needs.
struct circumstances {
  status outcome;
  sequence_failure failed;         ///< failed step of a sequence; ok: no sequence failed
  bool interrupted = false;        ///< the user ended the command by a signal
  bool wanted_back = false;        ///< the kernel requests the function back
  std::string refusal;             ///< last refusal of the operating system
  std::size_t locked_bytes = 0;    ///< bytes to lock for the device
  std::size_t memory_bytes = 0;    ///< bytes of the driver's own memory for tables
  unsigned command_interface = 0;  ///< revision that the firmware reports; 0: not known
  bool sized = false;              ///< the user has set sizes of tables
  budget size{};                   ///< the sizes in use
  capabilities can{};              ///< of the adapter; zeros before it has reported them
};

/// The message and exit code for the user, with the remedy. `doing`: "bring-up", "teardown" ...
vfio_host::failure verdict(const circumstances& of, const char* doing, const std::string& address);
vfio_host::failure verdict(const tool_host& host, blocking::session& driver, status s,
                           const char* doing, const std::string& address);

}  // namespace freehca::hcactl
