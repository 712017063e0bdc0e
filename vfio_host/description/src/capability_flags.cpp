// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "capability_flags.hpp"

#include <fmt/format.h>

namespace freehca::description {
namespace {

template <class Flag>
struct named_flag {
  Flag flag;
  const char* name;
};

constexpr named_flag<layouts::dev_cap_flag> general_flags[] = {
    {layouts::dev_cap_flag::rc, "rc"},
    {layouts::dev_cap_flag::uc, "uc"},
    {layouts::dev_cap_flag::ud, "ud"},
    {layouts::dev_cap_flag::xrc, "xrc"},
    {layouts::dev_cap_flag::reliable_multicast, "reliable_multicast"},
    {layouts::dev_cap_flag::fcoib, "fcoib"},
    {layouts::dev_cap_flag::srq, "srq"},
    {layouts::dev_cap_flag::ipoib_checksum, "ipoib_checksum"},
    {layouts::dev_cap_flag::pkey_violation_counter, "pkey_violation_counter"},
    {layouts::dev_cap_flag::qkey_violation_counter, "qkey_violation_counter"},
    {layouts::dev_cap_flag::vmm, "vmm"},
    {layouts::dev_cap_flag::fcoe, "fcoe"},
    {layouts::dev_cap_flag::dual_port_different_protocol, "dual_port_different_protocol"},
    {layouts::dev_cap_flag::raw_ethertype, "raw_ethertype"},
    {layouts::dev_cap_flag::raw_ip, "raw_ip"},
    {layouts::dev_cap_flag::big_lso_header, "big_lso_header"},
    {layouts::dev_cap_flag::memory_window, "memory_window"},
    {layouts::dev_cap_flag::automatic_path_migration, "automatic_path_migration"},
    {layouts::dev_cap_flag::atomic, "atomic"},
    {layouts::dev_cap_flag::raw_multicast, "raw_multicast"},
    {layouts::dev_cap_flag::ud_av_port_check, "ud_av_port_check"},
    {layouts::dev_cap_flag::ud_multicast, "ud_multicast"},
    {layouts::dev_cap_flag::udm_ipv4, "udm_ipv4"},
    {layouts::dev_cap_flag::dif, "dif"},
    {layouts::dev_cap_flag::paging_on_demand, "paging_on_demand"},
    {layouts::dev_cap_flag::router, "router"},
    {layouts::dev_cap_flag::l2_multicast, "l2_multicast"},
    {layouts::dev_cap_flag::ud_software_parsing, "ud_software_parsing"},
    {layouts::dev_cap_flag::ipv6_extension_headers, "ipv6_extension_headers"},
    {layouts::dev_cap_flag::roce, "roce"},
    {layouts::dev_cap_flag::fcoe_t11, "fcoe_t11"},
    {layouts::dev_cap_flag::uc_loopback, "uc_loopback"},
    {layouts::dev_cap_flag::fcs_keep, "fcs_keep"},
    {layouts::dev_cap_flag::header_split, "header_split"},
    {layouts::dev_cap_flag::wake_on_lan_port1, "wake_on_lan_port1"},
    {layouts::dev_cap_flag::wake_on_lan_port2, "wake_on_lan_port2"},
    {layouts::dev_cap_flag::udp_rss, "udp_rss"},
    {layouts::dev_cap_flag::vep_uc_steering, "vep_uc_steering"},
    {layouts::dev_cap_flag::vep_mc_steering, "vep_mc_steering"},
    {layouts::dev_cap_flag::counters, "counters"},
    {layouts::dev_cap_flag::rss_ip_fragments, "rss_ip_fragments"},
    {layouts::dev_cap_flag::set_eth_scheduler, "set_eth_scheduler"},
    {layouts::dev_cap_flag::sense_port, "sense_port"},
    {layouts::dev_cap_flag::port_management_change_event, "port_management_change_event"},
    {layouts::dev_cap_flag::eqe_64b, "eqe_64b"},
    {layouts::dev_cap_flag::cqe_64b, "cqe_64b"},
};

constexpr named_flag<layouts::bmme_flag> memory_management_flags[] = {
    {layouts::bmme_flag::base, "base"},
    {layouts::bmme_flag::window_type_2b, "window_type_2b"},
    {layouts::bmme_flag::multiple_page_sizes, "multiple_page_sizes"},
    {layouts::bmme_flag::block_list, "block_list"},
    {layouts::bmme_flag::zero_based, "zero_based"},
    {layouts::bmme_flag::local_invalidate_fence, "local_invalidate_fence"},
    {layouts::bmme_flag::local_invalidate, "local_invalidate"},
    {layouts::bmme_flag::remote_invalidate, "remote_invalidate"},
    {layouts::bmme_flag::window_type_2, "window_type_2"},
    {layouts::bmme_flag::reserved_lkey, "reserved_lkey"},
    {layouts::bmme_flag::fast_register, "fast_register"},
    {layouts::bmme_flag::skip_outer_vlan, "skip_outer_vlan"},
    {layouts::bmme_flag::phv_enable, "phv_enable"},
    {layouts::bmme_flag::roce_v1_v2, "roce_v1_v2"},
    {layouts::bmme_flag::port_remap, "port_remap"},
    {layouts::bmme_flag::ignore_fcs, "ignore_fcs"},
    {layouts::bmme_flag::vsd_init2rtr, "vsd_init2rtr"},
    {layouts::bmme_flag::config_dev, "config_dev"},
};

constexpr named_flag<layouts::dev_cap_ext_2_flag> extended_2_flags[] = {
    {layouts::dev_cap_ext_2_flag::update_qp, "update_qp"},
    {layouts::dev_cap_ext_2_flag::update_qp_src_check_lb, "update_qp_src_check_lb"},
    {layouts::dev_cap_ext_2_flag::lb_src_check, "lb_src_check"},
    {layouts::dev_cap_ext_2_flag::fsm, "fsm"},
    {layouts::dev_cap_ext_2_flag::more_than_80_vfs, "more_than_80_vfs"},
    {layouts::dev_cap_ext_2_flag::sw_cq_init, "sw_cq_init"},
    {layouts::dev_cap_ext_2_flag::vlan_control, "vlan_control"},
    {layouts::dev_cap_ext_2_flag::flow_statistics, "flow_statistics"},
};

constexpr named_flag<layouts::dev_cap_ext_3_flag> extended_3_flags[] = {
    {layouts::dev_cap_ext_3_flag::eth_backplane_autoneg, "eth_backplane_autoneg"},
    {layouts::dev_cap_ext_3_flag::recoverable_error_event, "recoverable_error_event"},
    {layouts::dev_cap_ext_3_flag::driver_version_to_fw, "driver_version_to_fw"},
    {layouts::dev_cap_ext_3_flag::vxlan_offloads, "vxlan_offloads"},
    {layouts::dev_cap_ext_3_flag::ets_cfg, "ets_cfg"},
    {layouts::dev_cap_ext_3_flag::diag_per_port, "diag_per_port"},
    {layouts::dev_cap_ext_3_flag::reassign_mac, "reassign_mac"},
};

// In the order of the bits.
template <class Flag, std::size_t Count>
void append(std::vector<std::string>& to, std::uint64_t word, const char* name_of_word,
            const named_flag<Flag> (&known)[Count]) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((word >> bit & 1) == 0) continue;
    const char* name = nullptr;
    for (const named_flag<Flag>& k : known)
      if (static_cast<std::uint64_t>(k.flag) == std::uint64_t{1} << bit) name = k.name;
    to.push_back(name != nullptr ? name : fmt::format("{}_{}", name_of_word, bit));
  }
}

}  // namespace

std::vector<std::string> flag_names(const layouts::image<layouts::query_dev_cap>& of) {
  using l = layouts::query_dev_cap;
  std::vector<std::string> names;
  append(names, of.get<&l::flags>(), "flags", general_flags);
  append(names, of.get<&l::bmme_flags>(), "bmme_flags", memory_management_flags);
  append(names, of.get<&l::ext_2_flags>(), "ext_2_flags", extended_2_flags);
  append(names, of.get<&l::ext_3_flags>(), "ext_3_flags", extended_3_flags);
  of.dump([&names](const layouts::bits& field, std::uint64_t value) {
    if (!field.is_raw() && field.width() == 1 && value != 0) names.emplace_back(field.name);
  });
  return names;
}

}  // namespace freehca::description
