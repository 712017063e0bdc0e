// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "connect.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace freehca::vfio_user_host {

using namespace vfio_user;

int connect_to(const std::string& socket, client& with, std::string& why) {
  if (const int code = with.connect(socket); code != 0) {
    why = fmt::format("{}: {}; freehca-device --socket {} serves an adapter there", socket,
                      std::strerror(code), socket);
    return code;
  }
  if (const int code = with.negotiate(); code == EBUSY) {
    why = fmt::format("{}: another client is served there", socket);
    return code;
  } else if (code != 0) {
    why = fmt::format("{}: no server of vfio-user: {}", socket, std::strerror(code));
    return code;
  }
  device_info about{};
  if (with.describe(about) == 0 && (about.flags & device_is_pci) != 0) return 0;
  why = fmt::format("{}: what is served there is no PCI function", socket);
  return EPROTO;
}

}  // namespace freehca::vfio_user_host
