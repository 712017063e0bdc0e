// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/queues/address.hpp>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/objects/handle.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// The path to the peer. If `global` is true, packets have a GRH, as between subnets.
struct address_attributes {
  unsigned port = 1;
  std::uint16_t dlid = 0;
  std::uint8_t sl = 0;
  std::uint8_t path_bits = 0;
  std::uint8_t static_rate = 0;  ///< layouts::ib_rate; 0: the rate of the port
  bool force_loopback = false;
  bool global = false;
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  gid dgid{};
};

class verbs;

/// Checks that queue pairs and address handles can use the port. Errors: driver_error::bad_argument
/// (the port does not exist), ::unsupported (the port is not an InfiniBand port; the paths of other
/// link layers have another format).
status check_port(verbs& in, unsigned port);

/// Writes the path as an address vector without port and protection domain. All fields but the SL
/// have the same places in the address path of a queue pair context. `to` has only zeros before.
/// Error: driver_error::bad_argument (a field is out of its range, or the path is not allowed). A
/// multicast DLID is allowed only if `to_groups_too` is true (datagrams) and the path is global.
/// The caller has checked the port with check_port().
status write_path(verbs& in, address_attributes way, bool to_groups_too,
                  layouts::image<layouts::address_vector>& to);

/// Writes the destination of datagrams of queue pairs of the protection domain. Errors:
/// driver_error::stale_handle, and those of check_port() and write_path().
status write_address(verbs& in, pd_handle pd, const address_attributes& way, queues::address& to);

}  // namespace freehca
