// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Datagrams to the firmware's own agents.
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/smp.hpp>

#include "groups.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_management {
namespace {

struct mad_row {
  row about;
  smp_attribute attribute = smp_attribute::node_info;
  mad_method method = mad_method::get;
  mad_class management_class = mad_class::subnet_lid_routed;
  unsigned base_version = mad_base_version;
  int port_beside = 0;  ///< 0: the port of the run; else 1 is the one past the last, -1 port 0
  unsigned opcode_modifier = 3;  ///< ignores both keys
  bool (*check)(const bench& with) = nullptr;
};

constexpr answer yes = answer::holds(true);
constexpr command_status taken = command_status::ok;
constexpr command_status bad = command_status::bad_management_packet;
constexpr char refused[] = "rule management-packet: captures: MAD_IFC refused with 0x30";
constexpr char linux_asks[] = "Linux hw/mlx4/main.c mlx4_ib_query_device, mlx4_ib_query_port";

template <class Attribute>
image<Attribute> attribute_of(const bench& b) {
  return image<Attribute>::from_bytes(b.output<smp>().bytes_of<&smp::data>());
}

constexpr mad_row rows[] = {
    {.about = {"node_info", "Get of NodeInfo", taken, linux_asks}},
    {.about = {"node_info-answered", "Get of NodeInfo is answered with GetResp and success", yes,
               "IBTA 13.4.5, 13.4.7"},
     .check =
         [](const bench& b) {
           const auto m = b.output<smp>();
           return m.get<&smp::method>() == mad_method::get_resp &&
                  m.get<&smp::status>() == mad_status::success;
         }},
    {.about = {"node_info-adapter", "NodeInfo is that of a channel adapter, by Mellanox's number",
               yes, "captures; IBTA 14.2.5.3"},
     .check =
         [](const bench& b) {
           const auto n = attribute_of<node_info>(b);
           return n.get<&node_info::type>() == node_type::channel_adapter &&
                  n.get<&node_info::vendor_id>() == 0x2c9;
         }},
    {.about = {"node_info-ports", "NodeInfo counts the ports that QUERY_DEV_CAP counts", yes,
               "captures; IBTA 14.2.5.3"},
     .check =
         [](const bench& b) {
           return attribute_of<node_info>(b).get<&node_info::num_ports>() == b.can().ports;
         }},
    {.about = {"node_info-guid", "NodeInfo gives the GUID that it gave during bring-up", yes,
               linux_asks},
     .check =
         [](const bench& b) {
           return attribute_of<node_info>(b).get<&node_info::node_guid>() ==
                  b.adapter().info().node_guid;
         }},
    {.about = {"node_info-port", "NodeInfo names the port that was asked", yes,
               "IBTA 14.2.5.3: LocalPortNum"},
     .check =
         [](const bench& b) {
           return attribute_of<node_info>(b).get<&node_info::local_port_num>() == b.where().port;
         }},
    {.about = {"node_description", "Get of NodeDescription", taken, linux_asks},
     .attribute = smp_attribute::node_description},
    {.about = {"port_info-lid", "PortInfo gives the LID that the driver knows", yes, linux_asks},
     .attribute = smp_attribute::port_info,
     .check =
         [](const bench& b) {
           return attribute_of<port_info>(b).get<&port_info::lid>() == b.port().lid;
         }},
    {.about = {"pkey_table", "Get of the first P_Keys", taken, linux_asks},
     .attribute = smp_attribute::pkey_table},
    {.about = {"guid_info", "Get of the first GUIDs of the port", taken, linux_asks},
     .attribute = smp_attribute::guid_info},
    {.about = {"switch_info",
               "Get of SwitchInfo, which no adapter has, is not answered with success", yes,
               "IBTA 13.4.7: method/attribute combination not supported"},
     .attribute = smp_attribute::switch_info,
     .check =
         [](const bench& b) { return b.output<smp>().get<&smp::status>() != mad_status::success; }},
    {.about = {"all-modifiers", "MAD_IFC with opcode modifier 15, which is a mask", taken,
               "Linux hw/mlx4/mad.c mlx4_MAD_IFC: a mask"},
     .opcode_modifier = 15},
    {.about = {"answer-instead-of-a-request", "a GetResp that nobody asked for", bad, refused},
     .method = mad_method::get_resp},
    {.about = {"class-without-an-agent", "a Get of class 0x20, which has no agent", bad, refused},
     .management_class = static_cast<mad_class>(0x20)},
    {.about = {"base-version-2", "a Get with base version 2", bad, refused}, .base_version = 2},
    {.about = {"port-0", "MAD_IFC for port 0", command_status::bad_index, source::port_number},
     .port_beside = -1},
    {.about = {"port-past-the-last", "MAD_IFC for a port past the last", command_status::bad_index,
               source::port_number},
     .port_beside = 1},
};

finding ask(bench& with, const mad_row& r) {
  image<smp> question;
  question.set<&smp::base_version>(r.base_version)
      .set<&smp::mgmt_class>(r.management_class)
      .set<&smp::class_version>(1)
      .set<&smp::method>(r.method)
      .set<&smp::attribute_id>(static_cast<unsigned>(r.attribute));
  with.put(question);
  unsigned port = with.where().port;
  if (r.port_beside != 0) port = r.port_beside < 0 ? 0 : with.can().ports + 1;
  const status s = with.issue({.what = opcode::mad_ifc,
                               .modifier = port,
                               .opcode_modifier = r.opcode_modifier,
                               .input = true,
                               .output = true});
  if (r.check == nullptr || !s.ok()) return s;
  return answer::holds(r.check(with));
}

}  // namespace
}  // namespace rows_of_management

extern const row_group management = group_of<rows_of_management::rows, rows_of_management::ask>(
    "management", "MAD_IFC: reads from the firmware's agents, and changes none");

}  // namespace freehca::conformance
