// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include "commands.hpp"

namespace freehca::hcactl {

/// How a command line names its adapter: by a PCI address or by a socket.
enum class form {
  pci_address,  ///< a PCI address after the command
  socket,       ///< --vfio-user SOCKET instead
};

/// Searches the words for --vfio-user, without parsing the command line.
form form_of(int argc, char** argv);

/// A parsed command line.
struct request {
  enum class command { list, info, up, ping, threads, nic, conform, reset, record };
  command what = command::list;
  common_options common;
  info_options inform;
  up_options up;
  ping_options ping{.messages = 20};
  threads_options threads;
  nic_options nic;
  conform_options conform;
  record_options record;
};

/// Parses the command line into `to`. Both forms have the same commands and options, except `list`,
/// which exists only for PCI addresses. Returns -1 on success. Otherwise it has printed the help,
/// the version or a message (with --json also as a document), and returns the exit code.
int read_command_line(int argc, char** argv, form how, request& to);

/// Executes the request in this program.
int run(const request& what, char** argv);

}  // namespace freehca::hcactl
