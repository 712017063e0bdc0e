// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

namespace freehca::run {

/// What the command line asks for. An empty text: the option was not given.
struct request {
  std::string fabric;
  std::string link;                ///< "infiniband" or "roce"
  std::string ip;                  ///< of an Ethernet port
  std::vector<std::string> vlans;  ///< of an Ethernet port, each VLAN=ADDRESS
  std::string device;              ///< "vfio:ADDRESS"; otherwise the adapter is inside the program
  std::string door;                ///< of such a device: "auto", "group" or "iommufd"
  std::string pages;               ///< of such a device: "small", "advised" or "huge"
  std::string part_id;             ///< what programs are told of the device
  std::string capture;             ///< absolute path
  std::string counters;            ///< absolute path
  bool explain = false;            ///< failures are explained on standard error
  bool list = false;               ///< show the fabrics instead of a program
  bool json = false;
  char** program = nullptr;  ///< PROGRAM ARGS..., in the launcher's own arguments; not with `list`
};

/// Reads the command line. -1: `to` has it. Otherwise the launcher's exit status, after the help or
/// after a message.
int read_command_line(int argc, char** argv, request& to);

}  // namespace freehca::run
