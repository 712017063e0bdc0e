// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/blocking/host.hpp>

namespace freehca::blocking {

std::unique_ptr<host> open_host(const std::string& address, std::size_t locked_bytes,
                                std::string& why) {
  if (socket_of(address).empty()) return open_over_vfio(address, locked_bytes, why);
  why = address + ": this program reaches PCI functions alone; one that is linked with " +
        "freehca::vfio_user reaches sockets too";
  return nullptr;
}

}  // namespace freehca::blocking
