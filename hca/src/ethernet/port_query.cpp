// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The attributes of an Ethernet port, from QUERY_PORT. A query of PortInfo serves for it, so that a
// program without Ethernet ports has neither memory nor code for it.
#include <freehca/firmware_cmds/query.hpp>

#include <freehca/hca/device_ports.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

namespace {

/// What a packet of RoCE has beside its payload, behind the Ethernet header: GRH, UDP, BTH, the
/// headers of XRC and of atomic operations, and the ICRC (Linux 6.1 ib_addr.h iboe_get_mtu).
constexpr unsigned bytes_beside_payload = 40 + 8 + 12 + 4 + 28 + 4;

/// The largest MTU whose packets fit, or 256.
layouts::ib_mtu mtu_within(unsigned ethernet_mtu) {
  using layouts::ib_mtu;
  auto code = static_cast<unsigned>(ib_mtu::mtu_4096);
  while (code > static_cast<unsigned>(ib_mtu::mtu_256) &&
         layouts::mtu_bytes(static_cast<ib_mtu>(code)) + bytes_beside_payload > ethernet_mtu)
    --code;
  return static_cast<ib_mtu>(code);
}

}  // namespace

void device_ports::start_ethernet(device_ports& of, channel& commands, unsigned port) {
  of.query_.start_ethernet(commands, port, of.attributes(port).ethernet_mtu);
}

void port_query::start_ethernet(channel& commands, unsigned port, unsigned ethernet_mtu) {
  if (!startable()) return;
  begin_parts(&ethernet_answered);
  command_request& r = part(mad_).request;
  r.opcode = commands::query_port::code;
  r.input = command_request::form::none;
  commands::query_port::aim(r, port);
  // QUERY_PORT has no input. The input of MAD_IFC keeps the MTU for the answer.
  mad_.input.set<&layouts::smp::attribute_modifier>(ethernet_mtu);
  send(commands);
}

void port_query::ethernet_answered(stepper& self, status outcome) noexcept {
  using l = layouts::query_port;
  using layouts::port_info;
  using layouts::smp;
  auto& q = static_cast<port_query&>(self);
  // The next query may be one of PortInfo again.
  command_request& r = q.mad_.request;
  r.opcode = commands::mad_ifc<smp>::code;
  r.input = command_request::form::mailbox;
  r.key = {};
  if (outcome.ok()) {
    const auto answer = layouts::image<l>::from_bytes(q.mad_.output.data());
    const bool up = answer.get<&l::link_up>();
    const auto speed = answer.get<&l::eth_link_speed>();
    const bool fdr = speed == layouts::ethernet_speed::speed_56g;
    const bool wide = fdr || speed == layouts::ethernet_speed::speed_40g;
    // Width and speed: Linux 6.1 hw/mlx4/main.c eth_link_query_port, state_to_phys_state.
    layouts::image<port_info> info;
    info.set<&port_info::mtu_cap>(layouts::ib_mtu::mtu_4096)
        .set<&port_info::neighbor_mtu>(
            mtu_within(static_cast<unsigned>(q.mad_.input.get<&smp::attribute_modifier>())))
        .set<&port_info::state>(up ? layouts::port_state::active : layouts::port_state::down)
        .set<&port_info::physical_state>(up ? layouts::port_physical_state::link_up
                                            : layouts::port_physical_state::disabled)
        .set<&port_info::link_width_active>(wide ? layouts::link_width::x4
                                                 : layouts::link_width::x1)
        .set<&port_info::link_speed_active>(layouts::link_speed::qdr)
        .set<&port_info::link_speed_ext_active>(fdr ? layouts::link_speed_ext::fdr
                                                    : layouts::link_speed_ext::none);
    __builtin_memcpy(q.mad_.output.data() + layouts::row_of<&smp::data>.offset, info.data(),
                     port_info::bytes);
  }
  q.complete(outcome);
}

}  // namespace freehca
