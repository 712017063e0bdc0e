// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <freehca/closed_process/closing.hpp>

namespace freehca::switch_program {

inline constexpr unsigned fewest_ports = 2;

/// What the command line asks for.
struct settings {
  bool ethernet = false;
  bool manages = false;  ///< a subnet manager is in the InfiniBand switch
  /// One for each cable, in the order of the ports; or, where each who connects to `listen` takes
  /// the next port that is free, none.
  std::vector<std::string> wires;
  std::string listen;
  unsigned ports = 0;  ///< counted, or as asked for
  /// How long a port keeps its link when the connection of a peer with a name has ended. Shorter
  /// than the silence after which both ends of an InfiniBand link give it up. no source: chosen
  unsigned grace_ms = 5000;
  bool names_required = false;  ///< with `listen`: a peer without a name gets no port
  /// As the adapters' default, with other last digits. no source: chosen
  std::uint64_t guid = 0x0002c90300f0d000;
  std::string description = "freehca-switch";
  bool trace = false;
  closed_process::mode closed = closed_process::mode::automatic;
};

/// How the program ends that was asked for nothing else.
inline constexpr int usage_error = 2;

/// Reads the command line. -1: `to` has it; else the program's exit code, after help, or after a
/// message that says what is wrong.
int read_command_line(int argc, char** argv, settings& to);

}  // namespace freehca::switch_program
