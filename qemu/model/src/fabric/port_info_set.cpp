// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Set(PortInfo): which values a port takes (IBTA vol. 1, 14.2.5.6). A Set with one bad field
// changes nothing.
#include <freehca/packets/port_info_rules.hpp>

#include "fabric/management_agent.hpp"

namespace freehca::model {

using namespace layouts;

bool management_agent::port_info_valid(const image<port_info>& w) const {
  return packets::is_unicast(w.get<&port_info::lid>()) &&
         packets::is_unicast(w.get<&port_info::master_sm_lid>()) &&
         w.get<&port_info::lid>() % (1u << w.get<&port_info::lmc>()) == 0 &&
         packets::link_fields_valid(port_.info, w);
}

std::uint16_t management_agent::set_port_info(const image<smp>& m, view& shown) {
  if (!own_port(m.get<&smp::attribute_modifier>())) return mad_status::invalid_attribute_value;
  const auto wanted = attribute<&smp::data, port_info>(m);
  if (!port_info_valid(wanted)) return mad_status::invalid_attribute_value;

  const image<port_info> before = port_.info;
  image<port_info>& i = port_.info;
  i.set<&port_info::mkey>(wanted.get<&port_info::mkey>())
      .set<&port_info::gid_prefix>(wanted.get<&port_info::gid_prefix>())
      .set<&port_info::lid>(wanted.get<&port_info::lid>())
      .set<&port_info::master_sm_lid>(wanted.get<&port_info::master_sm_lid>())
      .set<&port_info::mkey_lease_period>(wanted.get<&port_info::mkey_lease_period>())
      .set<&port_info::mkey_protect>(wanted.get<&port_info::mkey_protect>())
      .set<&port_info::lmc>(wanted.get<&port_info::lmc>())
      .set<&port_info::master_sm_sl>(wanted.get<&port_info::master_sm_sl>())
      .set<&port_info::init_type_reply>(wanted.get<&port_info::init_type_reply>())
      .set<&port_info::mkey_violations>(wanted.get<&port_info::mkey_violations>())
      .set<&port_info::pkey_violations>(wanted.get<&port_info::pkey_violations>())
      .set<&port_info::qkey_violations>(wanted.get<&port_info::qkey_violations>())
      .set<&port_info::subnet_timeout>(wanted.get<&port_info::subnet_timeout>());
  packets::set_link_fields(i, wanted);

  shown = {.hide_mkey = false, .reregister = wanted.get<&port_info::client_reregister>()};
  if (listener_ != nullptr) {
    listener_->port_info_set(before, shown.reregister);
    listener_->state_wanted(wanted.get<&port_info::state>(),
                            wanted.get<&port_info::physical_state>());
  }
  return mad_status::success;
}

}  // namespace freehca::model
