// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_user_host/function_identity.hpp>

#include <linux/pci_regs.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include <freehca/vfio_user/client.hpp>

#include "connect.hpp"

namespace freehca::vfio_user_host {

using namespace vfio_user;

int read_identity(const std::string& socket, function_identity& to, std::string& why) {
  client asked;
  if (const int code = connect_to(socket, asked, why); code != 0) return code;
  std::array<std::byte, PCI_STD_HEADER_SIZEOF> header;
  irq_info vectors{};
  vectors.index = msix_irq;
  if (asked.read(configuration_region, 0, header) != 0 || asked.describe(vectors) != 0) {
    why = socket + ": what is served there is no PCI function";
    return EPROTO;
  }
  const auto word = [&header](std::size_t at) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(header[at]) |
                                      std::to_integer<unsigned>(header[at + 1]) << 8);
  };
  to.vendor = word(PCI_VENDOR_ID);
  to.device = word(PCI_DEVICE_ID);
  to.revision = std::to_integer<std::uint8_t>(header[PCI_REVISION_ID]);
  to.subsystem_vendor = word(PCI_SUBSYSTEM_VENDOR_ID);
  to.subsystem = word(PCI_SUBSYSTEM_ID);
  to.vectors = vectors.count;
  return 0;
}

}  // namespace freehca::vfio_user_host
