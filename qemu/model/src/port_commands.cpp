// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands on ports.
#include <algorithm>

#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_node.hpp>
#include <freehca/layouts/set_port.hpp>

#include "port.hpp"
#include "ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr bool tables_hold(const adapter_limits& have) {
  return 1u << have.log_gids == managed_port::guids_at_most &&
         1u << have.log_pkeys == managed_port::pkeys_at_most;
}
static_assert(tables_hold(limits_connectx3_pro) && tables_hold(limits_connectx3) &&
              tables_hold(limits_connectx2));

// The bits that the host's own agents stand behind; firmware keeps the others (captures, section 4.2).
constexpr std::uint32_t capabilities_of_the_host =
    port_capability::sm | port_capability::communication_management |
    port_capability::snmp_tunneling | port_capability::device_management |
    port_capability::boot_management;

vl_code code_of(std::uint64_t vls) {
  switch (vls) {
    case 1:
      return vl_code::vl0;
    case 2:
      return vl_code::vl0_1;
    case 4:
      return vl_code::vl0_3;
    case 8:
      return vl_code::vl0_7;
    default:
      return vl_code::no_change;
  }
}

/// May the port have that many VLs with buffers for that MTU? Linux tries 8, 4, 2, 1 (port.c mlx4_SET_PORT);
/// ConnectX-2 has refused the first with bad_size (captures, section 8). From which product on: no source,
/// chosen.
command_status buffers_for(variant kind, std::uint64_t mtu_code, std::uint64_t vls) {
  if (mtu_code < 1 || mtu_code > limits_of(kind).mtu_code) return command_status::bad_parameter;
  if (vls > limits_of(kind).vls()) return command_status::exceeds_limits;
  if (code_of(vls) == vl_code::no_change) return command_status::bad_parameter;
  const bool too_much =
      kind == variant::connectx2 && mtu_code == static_cast<unsigned>(ib_mtu::mtu_4096) && vls > 4;
  return too_much ? command_status::bad_size : command_status::ok;
}

std::uint64_t number_of(vl_code code) {
  return std::uint64_t{1} << (static_cast<unsigned>(code) - 1);
}

command_status check(const image<set_port_ib>& in, const managed_port& p, bool open, variant kind) {
  using l = set_port_ib;
  // Limits of a port in use, and its names, cannot change. no source: chosen
  const bool shapes = in.get<&l::mmc>() || in.get<&l::mvc>() || in.get<&l::mp>() ||
                      in.get<&l::mg>() || in.get<&l::lss>() || in.get<&l::lws>() ||
                      in.get<&l::g0>() || in.get<&l::ng>() || in.get<&l::sig>();
  if (shapes && open) return command_status::bad_resource_state;
  const std::uint64_t mtu = in.get<&l::mmc>()
                                ? in.get<&l::mtu_cap>()
                                : static_cast<unsigned>(p.info.get<&port_info::mtu_cap>());
  const std::uint64_t vls =
      in.get<&l::mvc>() ? in.get<&l::vl_cap>() : number_of(p.info.get<&port_info::vl_cap>());
  if (in.get<&l::mmc>() || in.get<&l::mvc>())
    if (const auto s = buffers_for(kind, mtu, vls); s != command_status::ok) return s;
  if (in.get<&l::mp>() &&
      (in.get<&l::max_pkey>() == 0 || in.get<&l::max_pkey>() > managed_port::pkeys_at_most))
    return command_status::exceeds_limits;
  if (in.get<&l::mg>() &&
      (in.get<&l::max_gid>() == 0 || in.get<&l::max_gid>() > managed_port::guids_at_most))
    return command_status::exceeds_limits;
  if (in.get<&l::lss>() &&
      (in.get<&l::link_speed_supported>() & p.info.get<&port_info::link_speed_supported>()) == 0)
    return command_status::bad_parameter;
  if (in.get<&l::lws>() &&
      (in.get<&l::link_width_supported>() & p.info.get<&port_info::link_width_supported>()) == 0)
    return command_status::bad_parameter;
  return command_status::ok;
}

void apply_limits(const image<set_port_ib>& in, managed_port& p) {
  using l = set_port_ib;
  image<port_info>& i = p.info;
  if (in.get<&l::mmc>()) {
    const auto mtu = static_cast<ib_mtu>(in.get<&l::mtu_cap>());
    i.set<&port_info::mtu_cap>(mtu).set<&port_info::neighbor_mtu>(mtu);
  }
  if (in.get<&l::mvc>()) {
    const vl_code code = code_of(in.get<&l::vl_cap>());
    i.set<&port_info::vl_cap>(code).set<&port_info::operational_vls>(code);
  }
  if (in.get<&l::mp>()) p.pkey_entries = static_cast<unsigned>(in.get<&l::max_pkey>());
  if (in.get<&l::mg>()) i.set<&port_info::guid_cap>(in.get<&l::max_gid>());
  if (in.get<&l::lss>()) {
    const auto speeds =
        in.get<&l::link_speed_supported>() & i.get<&port_info::link_speed_supported>();
    i.set<&port_info::link_speed_supported>(speeds).set<&port_info::link_speed_enabled>(speeds);
  }
  if (in.get<&l::lws>()) {
    const auto widths =
        in.get<&l::link_width_supported>() & i.get<&port_info::link_width_supported>();
    i.set<&port_info::link_width_supported>(widths).set<&port_info::link_width_enabled>(widths);
  }
}

}  // namespace

command_status ports::init_port(command& c) {
  port* p = at(c.input_modifier);
  if (p == nullptr) return command_status::bad_parameter;
  // The Ethernet half of the model is still to come.
  if (ethernet(*p)) return command_status::bad_operation;
  // no source: chosen (Linux never initialises a port twice)
  if (p->is_open()) return command_status::bad_resource_state;
  p->open();
  return command_status::ok;
}

command_status ports::close_port(command& c) {
  port* p = at(c.input_modifier);
  if (p == nullptr) return command_status::bad_parameter;
  // Linux closes ports that are closed already (hw/mlx4/main.c mlx4_ib_remove after QP0's end).
  p->close();
  return command_status::ok;
}

command_status ports::set_port(command& c) {
  using l = set_port_ib;
  port* p = at(c.input_modifier & 0xff);
  if (p == nullptr) return command_status::bad_parameter;
  if (c.input_modifier > 0xff) return command_status::bad_parameter;
  // What an Ethernet port takes has another modifier, which is refused too.
  if (ethernet(*p)) return command_status::bad_operation;
  image<l> in;
  if (!c.read_input(in)) return command_status::internal_error;
  if (!in.reserved_clear()) return command_status::bad_parameter;
  managed_port& m = p->managed();
  if (const auto s = check(in, m, p->is_open(), a_.how.kind); s != command_status::ok) return s;

  apply_limits(in, m);
  if (in.get<&l::sig>()) node_.system_image_guid = in.get<&l::system_image_guid>();
  if (in.get<&l::ng>()) node_.node_guid = in.get<&l::node_guid>();
  if (in.get<&l::g0>()) m.guids[0] = m.guid = in.get<&l::guid0>();
  if (in.get<&l::rqk>()) m.info.set<&port_info::qkey_violations>(0);
  const auto before = static_cast<std::uint32_t>(m.info.get<&port_info::capability_mask>());
  const auto wanted = in.get<&l::rcm>() ? std::uint64_t{0} : in.get<&l::capability_mask>();
  const auto after = static_cast<std::uint32_t>((before & ~capabilities_of_the_host) |
                                                (wanted & capabilities_of_the_host));
  m.info.set<&port_info::capability_mask>(after);
  if (after != before) p->local_change(false);
  return command_status::ok;
}

command_status ports::query_port(command& c) {
  using l = layouts::query_port;
  const port* p = at(c.input_modifier);
  if (p == nullptr) return command_status::bad_parameter;
  constexpr unsigned eth_mtu = 1522, sdr_ddr_qdr = 7;
  const adapter_limits& have = a_.limits();
  const bool eth = ethernet(*p);
  image<l> out;
  out.set<&l::link_up>(p->link_up())
      .set<&l::suggested_type>(eth)
      .set<&l::supported_port_type>(eth ? port_type::ethernet : port_type::ib)
      .set<&l::ib_mtu>(have.mtu_code)
      .set<&l::eth_mtu>(eth_mtu)
      .set<&l::ib_link_speed>(sdr_ddr_qdr)
      .set<&l::ib_port_width>(have.width_mask)
      .set<&l::log_max_gid>(have.log_gids)
      .set<&l::log_max_pkey>(have.log_pkeys)
      .set<&l::log_max_vlan>(have.log_vlans)
      .set<&l::log_max_mac>(have.log_macs)
      .set<&l::max_tc_eth>(8)
      .set<&l::max_vl>(have.vls())
      .set<&l::mac>((a_.how.mac + c.input_modifier - 1) & 0xffffffffffff);
  return c.write_output(out) ? command_status::ok : command_status::internal_error;
}

command_status ports::sense_port(command& c) {
  const port* p = at(c.input_modifier);
  if (p == nullptr) return command_status::bad_parameter;
  image<layouts::sense_port> out;
  if (p->has_peer())
    out.set<&layouts::sense_port::port_type>(ethernet(*p) ? port_type::ethernet : port_type::ib);
  c.output_parameter = load_be<std::uint64_t>(out.data());
  return command_status::ok;
}

command_status ports::set_node(command& c) {
  if (c.input_modifier != set_node_input_modifier) return command_status::bad_parameter;
  image<layouts::set_node> in;
  if (!c.read_input(in)) return command_status::internal_error;
  std::copy_n(in.data(), node_.description.size(), node_.description.begin());
  for (const auto& p : ports_)
    if (p != nullptr) p->local_change(true);
  return command_status::ok;
}

command_status ports::mad_ifc(command& c) {
  image<mad_ifc_input_modifier> where;
  store_be<std::uint32_t>(where.data(), c.input_modifier);
  port* p = at(where.get<&mad_ifc_input_modifier::port>());
  if (p == nullptr) return command_status::bad_parameter;
  image<mad> m;
  if (!c.read_input(m)) return command_status::internal_error;
  mad_buffer buffer;
  std::copy_n(m.data(), buffer.size(), buffer.begin());
  const bool check_mkey =
      (c.opcode_modifier & static_cast<unsigned>(mad_ifc_modifier::ignore_mkey)) == 0;
  switch (p->local_mad(buffer, check_mkey)) {
    case mad_result::discarded:
      return command_status::bad_management_packet;
    case mad_result::consumed:
      return command_status::ok;
    case mad_result::answered:
      break;
  }
  return c.write_output(image<mad>::from_bytes(buffer.data())) ? command_status::ok
                                                               : command_status::internal_error;
}

}  // namespace freehca::model
