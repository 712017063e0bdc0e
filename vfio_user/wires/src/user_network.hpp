// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

namespace freehca::wires {

/// A port of the host that leads into the guest.
struct forwarded_port {
  bool udp = false;
  in_addr host{}, guest{};  ///< 0: any of the host's addresses, and the first that DHCP gives out
  std::uint16_t host_port = 0, guest_port = 0;
};

/// What stands behind "user:", with commas between.
struct user_network_options {
  std::vector<forwarded_port> forwarded;  ///< hostfwd=tcp|udp:[ADDRESS]:PORT-[ADDRESS]:PORT
  std::string tftp, boot_file;            ///< tftp=FOLDER, bootfile=NAME
};

/// "", or what is wrong.
std::string read_options(const std::string& text, user_network_options& to);

/// The first message of a network that begins; of one that does not, it is the reason.
inline constexpr const char* user_network_ready = "ready";

/// Serves the network on a socket whose messages are frames, until the other end closes it. Does
/// not return; for a process that has nothing else to do.
[[noreturn]] void serve_user_network(int socket, const user_network_options& how);

}  // namespace freehca::wires
