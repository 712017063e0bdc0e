// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace freehca::closed_process {

/// The permissions of a closed process beyond its memory, its open descriptors and its end.
struct permissions {
  /// Files that the process removes. Landlock knows permissions of folders only, so the process may
  /// remove each file in their folders and below.
  std::vector<std::string> removed_files;
  /// Files that the process replaces: it renames another file of the same folder, which is open
  /// already. It may do so with each file in their folders and below.
  std::vector<std::string> replaced_files;
  /// Address families of the stream sockets that the process creates and connects.
  std::vector<int> connected_families;
  /// TCP ports that these sockets are connected to, in host order.
  std::vector<std::uint16_t> connected_ports;
  /// The process creates sockets of IPv4, IPv6 and unix, and connects them to any address.
  bool connects_anywhere = false;
  /// Folders with files that the process reads. One that does not exist is ignored.
  std::vector<std::string> read_folders;
  /// Child processes that the process kills and waits for.
  std::vector<pid_t> children;
};

}  // namespace freehca::closed_process
