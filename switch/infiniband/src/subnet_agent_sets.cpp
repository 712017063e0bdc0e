// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Set(SwitchInfo) and Set(PortInfo). A Set with one bad field changes nothing.
#include <freehca/infiniband_switch/subnet_agent.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

std::uint16_t subnet_agent::set_switch_info(const image<smp>& m) {
  const auto wanted = attribute<&smp::data, switch_info>(m);
  image<switch_info>& now = tables_.info();
  if (wanted.get<&switch_info::linear_fdb_top>() >= forwarding_tables::unicast_lids)
    return mad_status::invalid_attribute_value;
  now.set<&switch_info::linear_fdb_top>(wanted.get<&switch_info::linear_fdb_top>())
      .set<&switch_info::default_port>(wanted.get<&switch_info::default_port>())
      .set<&switch_info::default_multicast_primary>(
          wanted.get<&switch_info::default_multicast_primary>())
      .set<&switch_info::default_multicast_other>(
          wanted.get<&switch_info::default_multicast_other>())
      .set<&switch_info::life_time>(wanted.get<&switch_info::life_time>());
  // A one clears it, a zero leaves it as it is.
  if (wanted.get<&switch_info::port_state_change>())
    now.set<&switch_info::port_state_change>(false);
  return mad_status::success;
}

std::uint16_t subnet_agent::set_port_info(const image<smp>& m) {
  switch_port* port = port_of_info(m.get<&smp::attribute_modifier>());
  if (port == nullptr) return mad_status::invalid_attribute_value;
  const auto wanted = attribute<&smp::data, port_info>(m);
  if (port != ports_.data())
    return set_link_port(static_cast<unsigned>(port - ports_.data()), wanted);
  if (!packets::is_unicast(wanted.get<&port_info::lid>()) ||
      !packets::is_unicast(wanted.get<&port_info::master_sm_lid>()))
    return mad_status::invalid_attribute_value;
  set_management_port(wanted);
  return mad_status::success;
}

// The components that a base port 0 has (IBTA vol. 1, table 146). It has no link, so states,
// widths, lanes and MTU are not looked at, nor is LMC, which stays 0.
void subnet_agent::set_management_port(const image<port_info>& w) {
  ports_[0]
      .info.set<&port_info::mkey>(w.get<&port_info::mkey>())
      .set<&port_info::gid_prefix>(w.get<&port_info::gid_prefix>())
      .set<&port_info::lid>(w.get<&port_info::lid>())
      .set<&port_info::master_sm_lid>(w.get<&port_info::master_sm_lid>())
      .set<&port_info::mkey_lease_period>(w.get<&port_info::mkey_lease_period>())
      .set<&port_info::mkey_protect>(w.get<&port_info::mkey_protect>())
      .set<&port_info::master_sm_sl>(w.get<&port_info::master_sm_sl>())
      .set<&port_info::mkey_violations>(w.get<&port_info::mkey_violations>())
      .set<&port_info::pkey_violations>(w.get<&port_info::pkey_violations>())
      .set<&port_info::qkey_violations>(w.get<&port_info::qkey_violations>())
      .set<&port_info::subnet_timeout>(w.get<&port_info::subnet_timeout>());
}

// LIDs, M_Key, GID prefix and the like are port 0's, and not looked at here: OpenSM writes zeros.
std::uint16_t subnet_agent::set_link_port(unsigned number, const image<port_info>& w) {
  image<port_info>& info = ports_[number].info;
  if (!packets::link_fields_valid(info, w)) return mad_status::invalid_attribute_value;
  packets::set_link_fields(info, w);
  info.set<&port_info::vl_stall_count>(w.get<&port_info::vl_stall_count>())
      .set<&port_info::hoq_life>(w.get<&port_info::hoq_life>())
      .set<&port_info::partition_enforce_in>(w.get<&port_info::partition_enforce_in>())
      .set<&port_info::partition_enforce_out>(w.get<&port_info::partition_enforce_out>());
  listener_.state_wanted(number, w.get<&port_info::state>(), w.get<&port_info::physical_state>());
  return mad_status::success;
}

}  // namespace freehca::infiniband_switch
