// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands on ports.
#include <algorithm>

#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_node.hpp>
#include <freehca/layouts/set_port.hpp>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/far_end.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr bool tables_hold(const adapter_limits& have) {
  return 1u << have.log_gids == managed_port::guids_at_most &&
         1u << have.log_pkeys == managed_port::pkeys_at_most;
}
static_assert(tables_hold(limits_connectx3_pro) && tables_hold(limits_connectx3) &&
              tables_hold(limits_connectx2));

// The bits that the host's own agents stand behind; firmware keeps the others (captures).
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

/// May the port have that many VLs with buffers for that MTU? Linux tries 8, 4, 2, 1 (port.c
/// mlx4_SET_PORT); ConnectX-2 has refused the first with bad_size (captures). From which product
/// on: no source, chosen.
void check_buffers(command_checks& is, variant kind, std::uint64_t mtu_code, std::uint64_t vls) {
  const unsigned greatest_mtu = limits_of(kind).mtu_code;
  is.that(mtu_code >= 1 && mtu_code <= greatest_mtu, rule::port_shape,
          command_status::bad_parameter, "mtu_cap %u; 1 to %u", static_cast<unsigned>(mtu_code),
          greatest_mtu)
      .at_most(rule::port_lanes, "vl_cap", vls, limits_of(kind).vls(),
               command_status::exceeds_limits)
      .must(code_of(vls) != vl_code::no_change, rule::port_lanes, command_status::bad_parameter,
            "vl_cap %u; 1, 2, 4 or 8", static_cast<unsigned>(vls))
      .that(kind != variant::connectx2 || mtu_code != greatest_mtu || vls <= 4, rule::port_buffers,
            command_status::bad_size, "vl_cap %u at an MTU of 4096; at most 4",
            static_cast<unsigned>(vls));
}

/// Why the firmware's agents discarded a packet (management_agent.cpp, performance_agent.cpp).
/// `managed`: by a subnet manager, which Ethernet ports are not.
void explain_discarded(command_checks& is, const image<mad>& m, bool managed) {
  const auto version = static_cast<unsigned>(m.get<&mad::base_version>());
  const auto wrong = [&is](bool good, const char* format_field, unsigned value) {
    is.must(good, rule::management_packet, command_status::bad_management_packet, "%s 0x%02x",
            format_field, value);
  };
  const mad_class c = m.get<&mad::mgmt_class>();
  const bool has_agent = c == mad_class::subnet_lid_routed ||
                         c == mad_class::subnet_directed_route ||
                         (managed && c == mad_class::performance);
  const mad_method method = m.get<&mad::method>();
  wrong(version == mad_base_version, "base_version", version);
  wrong(has_agent, "mgmt_class has no agent:", static_cast<unsigned>(c));
  wrong(
      method == mad_method::get || method == mad_method::set || method == mad_method::trap_repress,
      "method is no request:", static_cast<unsigned>(method));
  wrong(managed || method == mad_method::get,
        "method changes a port of Ethernet:", static_cast<unsigned>(method));
  wrong(false, "mkey or hops do not fit the port; class", static_cast<unsigned>(c));
}

std::uint64_t number_of(vl_code code) {
  return std::uint64_t{1} << (static_cast<unsigned>(code) - 1);
}

void check(command_checks& is, const image<set_port_ib>& in, const managed_port& p, bool open,
           variant kind) {
  using l = set_port_ib;
  const bool shapes = in.get<&l::mmc>() || in.get<&l::mvc>() || in.get<&l::mp>() ||
                      in.get<&l::mg>() || in.get<&l::lss>() || in.get<&l::lws>() ||
                      in.get<&l::g0>() || in.get<&l::ng>() || in.get<&l::sig>();
  is.that(!shapes || !open, rule::port_shape, command_status::bad_resource_state,
          "limits or names, and the port is open");
  const std::uint64_t mtu = in.get<&l::mmc>()
                                ? in.get<&l::mtu_cap>()
                                : static_cast<unsigned>(p.info.get<&port_info::mtu_cap>());
  const std::uint64_t vls =
      in.get<&l::mvc>() ? in.get<&l::vl_cap>() : number_of(p.info.get<&port_info::vl_cap>());
  if (in.get<&l::mmc>() || in.get<&l::mvc>()) check_buffers(is, kind, mtu, vls);
  const auto entries = [&is](const char* field, std::uint64_t value, unsigned most) {
    is.must(value >= 1 && value <= most, rule::port_tables, command_status::exceeds_limits,
            "%s %u; 1 to %u", field, static_cast<unsigned>(value), most);
  };
  if (in.get<&l::mp>()) entries("max_pkey", in.get<&l::max_pkey>(), managed_port::pkeys_at_most);
  if (in.get<&l::mg>()) entries("max_gid", in.get<&l::max_gid>(), managed_port::guids_at_most);
  const auto some_of = [&is](const char* field, std::uint64_t wanted, std::uint64_t has) {
    is.that((wanted & has) != 0, rule::port_shape, command_status::bad_parameter,
            "%s 0x%x; some of 0x%x", field, static_cast<unsigned>(wanted),
            static_cast<unsigned>(has));
  };
  if (in.get<&l::lss>())
    some_of("link_speed_supported", in.get<&l::link_speed_supported>(),
            p.info.get<&port_info::link_speed_supported>());
  if (in.get<&l::lws>())
    some_of("link_width_supported", in.get<&l::link_width_supported>(),
            p.info.get<&port_info::link_width_supported>());
}

void apply_limits(const image<set_port_ib>& in, managed_port& p) {
  using l = set_port_ib;
  image<port_info>& i = p.info;
  if (in.get<&l::mmc>()) {
    const auto mtu =
        std::clamp(static_cast<ib_mtu>(in.get<&l::mtu_cap>()), ib_mtu::mtu_256, ib_mtu::mtu_4096);
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
    if (speeds != 0)
      i.set<&port_info::link_speed_supported>(speeds).set<&port_info::link_speed_enabled>(speeds);
  }
  if (in.get<&l::lws>()) {
    const auto widths =
        in.get<&l::link_width_supported>() & i.get<&port_info::link_width_supported>();
    if (widths != 0)
      i.set<&port_info::link_width_supported>(widths).set<&port_info::link_width_enabled>(widths);
  }
}

}  // namespace

port* ports::named(command_checks& is, std::uint64_t number) const {
  port* p = at(number);
  is.port(p != nullptr, "input modifier: port", number, a_.how.ports);
  return p;
}

command_status ports::init_port(command& c) {
  command_checks is(a_.rules);
  port* p = named(is, c.input_modifier);
  if (is.refused()) return is.status();
  // Linux opens Ethernet ports that are open (mlx4/en_netdev.c mlx4_en_start_port).
  is.that(!p->is_open() || p->layer() == link_layer::ethernet, rule::port_closed,
          command_status::bad_resource_state, "port %u is open already", c.input_modifier);
  if (!is.refused() && !p->is_open()) p->open();
  return is.status();
}

command_status ports::close_port(command& c) {
  command_checks is(a_.rules);
  port* p = named(is, c.input_modifier);
  if (is.refused()) return is.status();
  // Linux closes ports that are closed already (hw/mlx4/main.c mlx4_ib_remove after QP0's end).
  p->close();
  return command_status::ok;
}

command_status ports::set_port(command& c) {
  return c.opcode_modifier == static_cast<unsigned>(set_port_modifier::ib) ? set_infiniband_port(c)
                                                                           : set_ethernet_port(c);
}

command_status ports::set_infiniband_port(command& c) {
  using l = set_port_ib;
  command_checks is(a_.rules);
  const auto number = static_cast<unsigned>(c.input_modifier & 0xff);
  if (named(is, number) == nullptr) return is.status();
  infiniband_port* p = ports_[number - 1].infiniband.get();
  check_type(is, number, p, "Ethernet");
  if (is.refused()) return is.status();
  image<l> in;
  is.at_most(rule::input_modifier, "input modifier", c.input_modifier, 0xff)
      .read(c, in)
      .no_reserved_bits(in);
  managed_port& m = p->managed();
  check(is, in, m, p->is_open(), a_.how.kind);
  if (is.refused()) return is.status();

  become(number, *p);
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
  command_checks is(a_.rules);
  const port* p = named(is, c.input_modifier);
  if (is.refused()) return is.status();
  constexpr unsigned eth_mtu_of_infiniband = 1522, sdr_ddr_qdr = 7;
  const adapter_limits& have = a_.limits();
  const bool eth = p->layer() == link_layer::ethernet;
  const bool either = a_.how.vpi[c.input_modifier - 1];
  const bool able = may_be_ethernet(a_.how, c.input_modifier);
  image<l> out;
  out.set<&l::link_up>(p->link_up())
      .set<&l::suggested_type>(a_.how.link[c.input_modifier - 1] == link_layer::ethernet)
      .set<&l::supported_port_type>(either ? port_type::vpi
                                    : able ? port_type::ethernet
                                           : port_type::ib)
      .set<&l::ib_mtu>(have.mtu_code)
      .set<&l::eth_mtu>(able ? ethernet_mtu : eth_mtu_of_infiniband)
      .set<&l::ib_link_speed>(sdr_ddr_qdr)
      .set<&l::ib_port_width>(have.width_mask)
      .set<&l::log_max_gid>(have.log_gids)
      .set<&l::log_max_pkey>(have.log_pkeys)
      .set<&l::log_max_vlan>(have.log_vlans)
      .set<&l::log_max_mac>(have.log_macs)
      .set<&l::max_tc_eth>(8)
      .set<&l::max_vl>(have.vls())
      .set<&l::mac>((a_.how.mac + c.input_modifier - 1) & 0xffffffffffff);
  // 10 Gb/s, a fibre, no autonegotiation: captures, of all kinds of card. The code of the fibre is
  // chosen among those that say fibre.
  constexpr unsigned fibre = 1;
  if (able) out.set<&l::transceiver_type>(fibre);
  // Linux senses such a port once, before INIT_HCA (main.c mlx4_dev_cap).
  out.set<&l::default_sense>(either && offers(a_.how, capability::default_sense));
  if (eth) {
    const bool first = a_.how.kind == variant::connectx2;
    out.set<&l::eth_link_speed>(first ? ethernet_speed::xaui_10g
                                      : modes(c.input_modifier)->speed());
  }
  return is.answer(c, out).status();
}

command_status ports::set_node(command& c) {
  image<layouts::set_node> in;
  command_checks is(a_.rules);
  is.that(c.input_modifier == set_node_input_modifier, rule::input_modifier,
          command_status::bad_parameter, "input modifier 0x%x; wanted 0x%x", c.input_modifier,
          set_node_input_modifier)
      .read(c, in);
  if (is.refused()) return is.status();
  std::copy_n(in.data(), node_.description.size(), node_.description.begin());
  for (const place& p : ports_)
    if (p.now != nullptr) p.now->local_change(true);
  return command_status::ok;
}

command_status ports::mad_ifc(command& c) {
  image<mad_ifc_input_modifier> where;
  store_be<std::uint32_t>(where.data(), c.input_modifier);
  command_checks is(a_.rules);
  port* p = named(is, where.get<&mad_ifc_input_modifier::port>());
  image<mad> m;
  is.read(c, m);
  if (is.refused()) return is.status();
  mad_buffer buffer;
  std::copy_n(m.data(), buffer.size(), buffer.begin());
  const bool check_mkey =
      (c.opcode_modifier & static_cast<unsigned>(mad_ifc_modifier::ignore_mkey)) == 0;
  switch (p->local_mad(buffer, check_mkey)) {
    case mad_result::discarded:
      explain_discarded(is, m, p->layer() == link_layer::infiniband);
      return is.status();
    case mad_result::consumed:
      return command_status::ok;
    case mad_result::answered:
      break;
  }
  return is.answer(c, image<mad>::from_bytes(buffer.data())).status();
}

}  // namespace freehca::model
