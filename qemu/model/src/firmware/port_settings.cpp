// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "firmware/port_settings.hpp"

#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/opcode.hpp>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// What a completion says of checksums (Linux fw.c config_dev_csum_flags): L4 checksums of TCP and
/// UDP, the IP header's of others, behind several tags too. Drivers that count on sums of other
/// protocols' packets, which 1 and 2 promise, have nothing to count on.
constexpr unsigned rx_checksum_by_status = 3;

/// The register behind the head of ACCESS_REG's mailboxes.
struct ptys_mailbox {
  static constexpr std::size_t bytes = access_reg::bytes + ptys::bytes;
  raw<access_reg::bytes> head{0, "head"};
  raw<ptys::bytes> value{access_reg::bytes, "value"};
};

}  // namespace

port_settings::port_settings(const options& how, hca_profile& profile, ports& links,
                             rule_book& rules, command_table& commands)
    : how_(how), profile_(profile), links_(links), rules_(rules) {
  if (offers(how, capability::device_configuration))
    commands.on(opcode::config_dev, [this](command& c) { return config_dev(c); });
  if (offers(how, capability::link_modes))
    commands.on(opcode::access_reg, [this](command& c) { return access_reg(c); });
}

command_status port_settings::config_dev(command& c) {
  using l = layouts::config_dev;
  if (static_cast<config_dev_modifier>(c.opcode_modifier) == config_dev_modifier::get)
    return query_config_dev(c);
  image<l> in;
  command_checks is(rules_);
  is.read(c, in);
  if (is.refused()) return is.status();
  check_settings(is, in);
  if (is.refused()) return is.status();
  if (in.get<&l::u_vxlan_udp_dport>() && offers(how_, capability::vxlan))
    profile_.vxlan_port = static_cast<std::uint16_t>(in.get<&l::vxlan_udp_dport>());
  if (in.get<&l::u_roce_v2_udp_dport>() && offers(how_, capability::roce_v2))
    profile_.roce_v2_port = static_cast<std::uint16_t>(in.get<&l::roce_v2_udp_dport>());
  if (in.get<&l::u_disable_rx_port_check>() && offers(how_, capability::port_remap))
    profile_.any_receive_port = in.get<&l::disable_rx_port_check>();
  return command_status::ok;
}

/// What is not reported is not changed, though it may be taken.
void port_settings::check_settings(command_checks& is, const image<layouts::config_dev>& in) const {
  using l = layouts::config_dev;
  const auto reported = [&is](bool good, const char* field) {
    is.that(good, rule::capability_reported, command_status::bad_parameter,
            "%s, which is not reported", field);
  };
  is.no_reserved_bits(in);
  reported(!in.get<&l::u_vxlan_udp_dport>() || offers(how_, capability::vxlan),
           "u_vxlan_udp_dport");
  reported(!in.get<&l::u_roce_v2_udp_dport>() || offers(how_, capability::roce_v2),
           "u_roce_v2_udp_dport");
  // It comes with the remapping of ports (Linux main.c mlx4_bond).
  reported(!in.get<&l::u_disable_rx_port_check>() || offers(how_, capability::port_remap),
           "u_disable_rx_port_check");
}

command_status port_settings::query_config_dev(command& c) const {
  using l = layouts::config_dev;
  const auto checksums = [this](unsigned port) {
    return may_be_ethernet(how_, port) ? rx_checksum_by_status : 0;
  };
  image<l> out;
  out.set<&l::rx_checksum_port1>(checksums(1)).set<&l::rx_checksum_port2>(checksums(2));
  if (offers(how_, capability::vxlan)) out.set<&l::vxlan_udp_dport>(profile_.vxlan_port);
  if (offers(how_, capability::roce_v2)) out.set<&l::roce_v2_udp_dport>(profile_.roce_v2_port);
  out.set<&l::disable_rx_port_check>(profile_.any_receive_port);
  return command_checks(rules_).answer(c, out).status();
}

command_status port_settings::access_reg(command& c) {
  using h = layouts::access_reg;
  image<ptys_mailbox> mailbox;
  command_checks is(rules_);
  is.read(c, mailbox);
  if (is.refused()) return is.status();
  auto head = image<h>::from_bytes(mailbox.bytes_of<&ptys_mailbox::head>());
  const auto asked = image<ptys>::from_bytes(mailbox.bytes_of<&ptys_mailbox::value>());
  image<ptys> answer = asked;
  const access_reg_status status = head.get<&h::register_id>() == access_reg_id::ptys
                                       ? access_ptys(head.get<&h::method>(), asked, answer)
                                       : access_reg_status::register_not_supported;
  head.set<&h::status>(status);
  mailbox.set_bytes<&ptys_mailbox::head>(head.data());
  mailbox.set_bytes<&ptys_mailbox::value>(answer.data());
  return is.answer(c, mailbox).status();
}

access_reg_status port_settings::access_ptys(access_reg_method how, const image<ptys>& asked,
                                             image<ptys>& is) {
  const auto port = static_cast<unsigned>(asked.get<&ptys::local_port>());
  link_modes* modes = links_.modes(port);
  if (modes == nullptr || asked.get<&ptys::proto_mask>() != ptys_protocol::ethernet)
    return access_reg_status::bad_parameter;
  if (how == access_reg_method::write) {
    if (!modes->ask(static_cast<std::uint32_t>(asked.get<&ptys::eth_proto_admin>())))
      return access_reg_status::bad_parameter;
  } else if (how != access_reg_method::query) {
    return access_reg_status::method_not_supported;
  }
  is = {};
  is.set<&ptys::local_port>(port).set<&ptys::proto_mask>(ptys_protocol::ethernet);
  is.set<&ptys::eth_proto_cap>(modes->able())
      .set<&ptys::eth_proto_admin>(modes->asked())
      .set<&ptys::eth_proto_oper>(links_.active(port) ? bits_of(modes->best()) : 0);
  return access_reg_status::ok;
}

command_status port_settings::set_wake_on_lan(command& c, unsigned port) {
  image<wake_on_lan> in;
  store_be(in.data(), c.input_parameter);
  // Without `modify` nothing is to change.
  if (in.get<&wake_on_lan::modify>())
    wakes_[port - 1] = in.get<&wake_on_lan::enabled>() && in.get<&wake_on_lan::magic_packet>();
  return command_status::ok;
}

command_status port_settings::query_wake_on_lan(command& c, unsigned port) {
  image<wake_on_lan> out;
  out.set<&wake_on_lan::enabled>(wakes_[port - 1])
      .set<&wake_on_lan::magic_packet>(wakes_[port - 1]);
  c.output_parameter = load_be<std::uint64_t>(out.data());
  return command_status::ok;
}

}  // namespace freehca::model
