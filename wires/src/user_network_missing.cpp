// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For builds without libslirp.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "user_network.hpp"

namespace freehca::wires {

void serve_user_network(int socket, const user_network_options&) {
  constexpr std::string_view why = "this build has no libslirp (Debian: libslirp-dev)";
  ::send(socket, why.data(), why.size(), MSG_NOSIGNAL);
  _exit(EXIT_FAILURE);
}

}  // namespace freehca::wires
