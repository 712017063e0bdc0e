// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

namespace freehca {

status device::check_ethernet(unsigned port) {
  if (!up()) return driver_error::bad_state;
  FREEHCA_TRY(refused_.check(attribute_id::port, port, capabilities_.ports, 1));
  const bool ethernet = ports_.attributes(port).link_layer == layouts::port_type::ethernet;
  return ethernet ? status() : status(driver_error::unsupported);
}

}  // namespace freehca
