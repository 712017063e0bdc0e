// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// The way to the other side. `global`: with a GRH, as between subnets.
struct address_attributes {
  unsigned port = 1;
  std::uint16_t dlid = 0;
  std::uint8_t sl = 0;
  std::uint8_t path_bits = 0;
  std::uint8_t static_rate = 0;  ///< layouts::ib_rate; 0: the port's
  bool force_loopback = false;
  bool global = false;
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  gid dgid{};
};

/// Can queue pairs and addresses use the port? driver_error::bad_argument: there is no such port;
/// ::unsupported: it is not an InfiniBand port, and paths of others are made otherwise.
status check_port(unsigned port, const capabilities& can);

/// Can the device send that way? A datagram may go to a multicast group, with a GRH. The port is
/// one that check_port() takes.
bool is_way(const address_attributes& way, bool to_groups_too);

/// How address paths and vectors write a static rate: the fastest that the device has and that is
/// no faster.
unsigned static_rate_code(std::uint8_t rate, const capabilities& can);

}  // namespace freehca
