// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The choice of device-managed steering at INIT_HCA. Sources: Linux 6.1 fw.c mlx4_INIT_HCA; main.c
// choose_steering_mode, choose_log_fs_mgm_entry_size.
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/query_dev_cap.hpp>

#include <freehca/hca/device_managed_steering.hpp>

namespace freehca {

status device_managed_steering(const device& d, layouts::image<layouts::init_hca>& to) {
  using l = layouts::init_hca;
  using can = layouts::query_dev_cap;
  const budget& b = d.opened_with();
  const auto& reported = d.capabilities().raw;
  if (!reported.get<&can::dmfs>()) return driver_error::unsupported;
  if (layouts::mcg_members_per_entry(b.log_mcg_entry_bytes) <
      reported.get<&can::dmfs_max_qp_per_entry>())
    return status(driver_error::bad_argument,
                  static_cast<unsigned>(budget::item::multicast_groups));
  // The rules have the memory of the multicast table. There is no hash.
  to.set<&l::dmfs>(true)
      .set<&l::dmfs_base>(to.get<&l::mc_base>())
      .set<&l::dmfs_log_entry_sz>(to.get<&l::log_mc_entry_sz>())
      .set<&l::dmfs_log_table_sz>(to.get<&l::log_mc_table_sz>());
  constexpr std::size_t from = l{}.mc_base.offset;
  __builtin_memset(to.data() + from, 0, l{}.log_mc_table_sz.offset + 4 - from);
  // Linux does not read the other parameters from the answer of QUERY_HCA.
  if (d.step() != bring_up_step::init_hca) return {};
  constexpr std::uint32_t protocols = static_cast<unsigned>(layouts::dmfs_bit::udp_unicast) |
                                      static_cast<unsigned>(layouts::dmfs_bit::tcp_unicast);
  constexpr std::uint32_t addresses = 8;
  to.set<&l::dmfs_eth_bits>(protocols)
      .set<&l::dmfs_eth_num_addrs>(addresses)
      .set<&l::dmfs_ib_bits>(protocols)
      .set<&l::dmfs_ib_num_addrs>(addresses);
  return {};
}

status rules_or_multicast_table(const device& d, layouts::image<layouts::init_hca>& to) {
  return d.steers_by_rules() ? device_managed_steering(d, to) : multicast_table_steering(d, to);
}

}  // namespace freehca
