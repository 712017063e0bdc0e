// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "strict_fields.hpp"

#include <set>
#include <string_view>

#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/set_port.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/layouts/srqc.hpp>

namespace freehca::model::test {

using namespace layouts;

namespace {

template <class... T>
std::set<std::string> fields_of() {
  std::set<std::string> names;
  (image<T>{}.dump([&names](const bits& b, std::uint64_t) { names.insert(b.name); }), ...);
  return names;
}

/// Parameters of commands, parts of mailboxes, and the objects that commands name.
constexpr std::string_view others[] = {"opcode ",
                                       "opcode modifier ",
                                       "input modifier",
                                       "immediate",
                                       "input mailbox at ",
                                       "output mailbox at ",
                                       "reserved bit",
                                       "system state: ",
                                       "another command on this object",
                                       "EQ 0x",
                                       "CQ 0x",
                                       "SRQ 0x",
                                       "QP 0x",
                                       "MPT 0x",
                                       "MPT index 0x",
                                       "group index 0x",
                                       "group 0x",
                                       "port ",
                                       "state of QP 0x",
                                       "status ",
                                       "context of ",
                                       "control entry of ",
                                       "entry of ",
                                       "CQs: ",
                                       "SRQs: ",
                                       "QPs: ",
                                       "limit ",
                                       "limits or names",
                                       "auxiliary pages lent: ",
                                       "firmware pages lent: ",
                                       "sched_queue",
                                       "it comes after "};

}  // namespace

bool names_a_field(const std::string& found) {
  static const std::set<std::string> fields =
      fields_of<eqc, cqc, srqc, mpt, qpc, init_hca, map_entry, set_port_ib, set_port_general,
                set_port_mac_entry, set_port_vlan_entry, set_port_roce_addr_entry, set_port_prio2tc,
                set_port_scheduler_entry, set_port_vxlan, multicast_filter, mad, smp, mod_stat_cfg,
                mcg_header, flow_rule_control, flow_header_infiniband, steered_qp_range,
                write_mtt_header, config_dev, virt_port_map, update_qp_mailbox>();
  if (fields.contains(found.substr(0, found.find_first_of(" :,;")))) return true;
  for (const std::string_view name : others)
    if (found.starts_with(name)) return true;
  return false;
}

}  // namespace freehca::model::test
