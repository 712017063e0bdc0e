// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/address_attributes.hpp>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>

namespace freehca {

using namespace layouts;

status check_port(unsigned port, const capabilities& can) {
  if (port < 1 || port > can.ports) return driver_error::bad_argument;
  return can.link_layer(port) == port_type::ib ? status() : status(driver_error::unsupported);
}

bool is_valid_path(const address_attributes& way, bool to_groups_too) {
  const bool to_group = way.dlid >= first_multicast_lid;
  return way.sl < 16 && way.path_bits < 128 && way.sgid_index < 128 && way.flow_label < 1u << 20 &&
         way.static_rate <= static_cast<unsigned>(ib_rate::gbps_100) &&
         (way.global || (way.dlid != 0 && !to_group)) && (to_groups_too || !to_group);
}

unsigned static_rate_code(std::uint8_t rate, const capabilities& can) {
  if (rate == 0) return 0;
  const auto supported = static_cast<unsigned>(can.raw.get<&query_dev_cap::stat_rate_support>());
  constexpr unsigned slowest = static_cast<unsigned>(ib_rate::gbps_2_5) + static_rate_offset;
  unsigned code = rate + static_rate_offset;
  while (code > slowest && (code > 15 || (1u << code & supported) == 0)) --code;
  return code;
}

}  // namespace freehca
