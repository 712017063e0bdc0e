// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/capabilities.hpp>
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

/// Checks that queue pairs and address handles can use the port. Errors: driver_error::bad_argument
/// (the port does not exist), ::unsupported (the port is not an InfiniBand port; the paths of other
/// link layers have another format).
status check_port(unsigned port, const capabilities& can);

/// True if the device can send on this path. The path may lead to a multicast group only if
/// `to_groups_too` is true (datagrams) and the path is global. The port must be valid for
/// check_port().
bool is_valid_path(const address_attributes& way, bool to_groups_too);

/// Returns the code of a static rate in address paths and address vectors. If the device does not
/// support the code of `rate`, this is the next lower code that it supports, and at least that of
/// 2.5 Gb/s. Codes are not in the order of the rates: a lower code can mean a higher rate.
unsigned static_rate_code(std::uint8_t rate, const capabilities& can);

}  // namespace freehca
