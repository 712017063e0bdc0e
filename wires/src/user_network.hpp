// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include <freehca/closed_process/closing.hpp>

namespace freehca::wires {

/// A port of the host that is forwarded to the guest.
struct forwarded_port {
  bool udp = false;
  in_addr host{}, guest{};  ///< 0: any of the host's, the first of DHCP
  std::uint16_t host_port = 0, guest_port = 0;
};

/// The options after "user:", which are separated by commas.
struct user_network_options {
  std::vector<forwarded_port> forwarded;  ///< hostfwd=tcp|udp:[ADDRESS]:PORT-[ADDRESS]:PORT
  std::string tftp, boot_file;            ///< tftp=FOLDER, bootfile=NAME
  closed_process::mode closed = closed_process::mode::automatic;
};

/// Parses the options. Returns "", or a message.
std::string read_options(const std::string& text, user_network_options& to);

/// The first message of a network that has started. If it cannot start, the first message is the
/// reason.
inline constexpr const char* user_network_ready = "ready";

/// Serves the network on a socket whose messages are frames, until the other end closes it. Then it
/// ends the process, which must have no other work.
[[noreturn]] void serve_user_network(int socket, const user_network_options& how);

}  // namespace freehca::wires
