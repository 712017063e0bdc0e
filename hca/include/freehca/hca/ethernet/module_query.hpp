// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/module_info.hpp>

#include <freehca/hca/ports.hpp>

namespace freehca {

class device;

/// A part of the memory of a module (SFF-8472, SFF-8636), in one read. The identifier of the module
/// is byte 0 at layouts::sfp_identity_address.
struct module_part {
  std::uint8_t i2c_address = layouts::sfp_identity_address;
  std::uint8_t page = 0;
  std::uint16_t offset = 0;
  std::uint16_t bytes = 1;  ///< 1 to 48. The last byte is in front of offset 256.
};

/// Reads the memory of the module at the end of the cable of an Ethernet port. The port may be
/// closed. The caller owns the operation. A done operation may be restarted.
///
/// Outcomes besides those of the command: driver_error::bad_argument (device::refused() names the
/// attribute), ::unsupported (not an Ethernet port), ::bad_state (the device is not up),
/// ::cancelled, transport_error::timeout, transport_error::bad_reply (the module cannot be read:
/// error_of() gives the reason). Source: Linux 6.1 port.c mlx4_get_module_info.
class module_query : public subnet_query {
 public:
  /// Ports count from 1.
  void start(device& adapter, unsigned port, const module_part& part);

  /// The bytes of the part, when the operation is done and ok.
  const std::byte* data() const {
    return mad_.output.bytes_of<&layouts::smp::data>() + layouts::module_info{}.data.offset;
  }
  /// The reason of transport_error::bad_reply.
  static layouts::module_error error_of(status s) {
    return s.is(transport_error::bad_reply) ? static_cast<layouts::module_error>(s.where() >> 8)
                                            : layouts::module_error::none;
  }
};

}  // namespace freehca
