// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>
#include <string>

#include <freehca/blocking/session.hpp>
#include <freehca/vfio_host/failure.hpp>

#include "tool_host.hpp"

namespace freehca::hcactl {

/// How something ended badly.
struct circumstances {
  status outcome;
  sequence_failure failed;         ///< where a sequence of the device stopped; ok: none did
  bool interrupted = false;        ///< the user wants it to end
  bool wanted_back = false;        ///< the kernel wants the function back
  std::string refusal;             ///< what the operating system refused last
  std::size_t locked_bytes = 0;    ///< that have to be locked for the device
  std::size_t memory_bytes = 0;    ///< that the driver takes for itself for its tables
  unsigned command_interface = 0;  ///< its revision, as the firmware says; 0: not known
  bool sized = false;              ///< the user said how large tables are
  budget size{};                   ///< as large
  capabilities can{};              ///< of the adapter, as far as it has told
};

/// What it means for a user of this tool, with the remedy. `doing`: "bring-up", "teardown" ...
vfio_host::failure verdict(const circumstances& of, const char* doing, const std::string& address);
vfio_host::failure verdict(const tool_host& host, blocking::session& driver, status s,
                           const char* doing, const std::string& address);

}  // namespace freehca::hcactl
