// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include "commands.hpp"

namespace freehca::hcactl {

/// Where the adapter of a command line is.
enum class form {
  pci_address,  ///< each command has an address
  socket,       ///< --vfio-user SOCKET stands for it
};

/// By the words alone: has one of them --vfio-user?
form form_of(int argc, char** argv);

/// What the command line asks for.
struct request {
  enum class command { list, info, up, ping, threads, conform, reset, record };
  command what = command::list;
  common_options common;
  info_options inform;
  up_options up;
  ping_options ping{.messages = 20};
  threads_options threads;
  conform_options conform;
  record_options record;
};

/// Reads the command line: the same commands and options in both forms, but for `list`, which is
/// about no adapter behind a socket. -1: `to` has it. Else the program's exit code, after help, the
/// version, or a message that says what is wrong; with --json that message is a document too.
int read_command_line(int argc, char** argv, form how, request& to);

/// Does it, in this program.
int run(const request& what, char** argv);

}  // namespace freehca::hcactl
