// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Adapters whose port 1 is a VPI port. The test is the driver, and the subnet manager of a cable.
#pragma once

#include <utility>
#include <vector>

#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_port.hpp>

#include "cabled_fixture.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model::test {

inline options with_vpi(link_layer first = link_layer::infiniband) {
  options how = test_options();
  how.link[0] = first;
  how.vpi[0] = true;
  return how;
}

inline options with_cabled_vpi(unsigned number, link_layer first = link_layer::infiniband) {
  options how = with_vpi(first);
  how.cable[0] = true;
  how.node_guid += 0x100 * number;
  return how;
}

/// A driver's commands on port 1 of `s`.
struct vpi_driver {
  using status = layouts::command_status;
  station& s;

  status to_infiniband() const {
    return s.driver
        ->command_with(layouts::opcode::set_port, layouts::image<layouts::set_port_ib>{}, 1,
                       static_cast<unsigned>(layouts::set_port_modifier::ib))
        .status;
  }
  status to_ethernet() const {
    using g = layouts::set_port_general;
    return ethernet(layouts::set_port_selector::general,
                    layouts::image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(1526));
  }
  template <class T>
  status ethernet(layouts::set_port_selector selector, const layouts::image<T>& in,
                  unsigned at = 0) const {
    std::memset(s.host->at(s.driver->input), 0, 4096);
    s.host->store(s.driver->input + at * T::bytes, in);
    return s.driver
        ->command(layouts::opcode::set_port, s.driver->input,
                  layouts::set_port_input_modifier(selector, 1),
                  static_cast<unsigned>(layouts::set_port_modifier::ethernet))
        .status;
  }
  layouts::image<layouts::query_port> asked(unsigned port = 1) const {
    layouts::image<layouts::query_port> m;
    EXPECT_EQ(s.driver->query(layouts::opcode::query_port, m, port).status, status::ok);
    return m;
  }
  layouts::port_type sensed() const {
    const outcome o = s.driver->command(layouts::opcode::sense_port, 0, 1);
    EXPECT_EQ(o.status, status::ok);
    return static_cast<layouts::port_type>(o.output);
  }
  bool is_ethernet() const { return s.links().ethernet(1) != nullptr; }
  bool is_infiniband() const { return s.links().infiniband(1) != nullptr; }
};

}  // namespace freehca::model::test
