// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "port_limits.hpp"

namespace freehca {

void ethernet_limits::fill(command_request& r, layouts::image<layouts::set_port_general>& input,
                           unsigned port, unsigned mtu, std::uint32_t sends, std::uint32_t obeys) {
  using l = layouts::set_port_general;
  using set = commands::set_port_ethernet<l, layouts::set_port_selector::general>;
  input = {};
  input.set<&l::v_mtu>(true)
      .set<&l::mtu>(mtu + bytes_beside_ip)
      .set<&l::v_pptx>(true)
      .set<&l::v_pprx>(true);
  layouts::store_be(input.data() + l{}.pptx.offset, sends);
  layouts::store_be(input.data() + l{}.pprx.offset, obeys);
  r.opcode = set::code;
  set::aim(r, port);
  r.input = command_request::form::mailbox;
  r.input_data = input.data();
  r.input_bytes = l::bytes;
}

}  // namespace freehca
