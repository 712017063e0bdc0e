// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/blocking/host.hpp>
#include <freehca/vfio_user_host/remote_device.hpp>

namespace freehca::blocking {

std::unique_ptr<host> open_host(const std::string& address, std::size_t locked_bytes,
                                std::string& why) {
  const std::string socket = socket_of(address);
  if (socket.empty()) return open_over_vfio(address, locked_bytes, why);
  return vfio_user_host::remote_device::open(socket, why);
}

}  // namespace freehca::blocking
