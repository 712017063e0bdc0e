// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the firmware tells about the adapter: QUERY_FW, QUERY_ADAPTER, QUERY_DEV_CAP.
#include <cstring>

#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_fw.hpp>

#include "basis/adapter_limits_fit.hpp"
#include "basis/capabilities.hpp"
#include "basis/identity.hpp"
#include "basis/places.hpp"
#include "command/command_checks.hpp"
#include "firmware/firmware.hpp"
#include "ports/interface_counters.hpp"
#include "tables/icm.hpp"

namespace freehca::model {

using layouts::command_status;

command_status firmware::query_fw(command& c) {
  using l = layouts::query_fw;
  const identity& who = identity_of(a_.how.kind);
  layouts::image<l> out;
  out.set<&l::fw_pages>(firmware_pages_needed);
  out.set<&l::fw_rev_major>(who.firmware_major);
  out.set<&l::fw_rev_minor>(who.firmware_minor);
  out.set<&l::fw_rev_subminor>(who.firmware_subminor);
  out.set<&l::cmd_interface_rev>(a_.how.command_interface);
  out.set<&l::log_max_outstanding_cmd>(a_.how.log_max_commands);
  // Every place is in BAR0.
  out.set<&l::clr_int_base>(places::clear_interrupt);
  out.set<&l::error_buf_offset>(places::error_buffer);
  out.set<&l::error_buf_size>(places::error_buffer_words);
  out.set<&l::comm_base>(places::comm_channel);
  if (clock_mhz() != 0) out.set<&l::clock_offset>(places::clock);
  return command_checks(a_.rules).answer(c, out).status();
}

command_status firmware::query_adapter(command& c) {
  using l = layouts::query_adapter;
  layouts::image<l> out;
  out.set<&l::inta_pin>(a_.how.interrupt_pin);
  out.set<&l::vsd_vendor_id>(0x15b3);
  // Firmware swaps the bytes of each word of the identifier; drivers swap them back (Linux
  // get_board_id).
  std::byte psid[decltype(l::psid)::length]{};
  const char* id = identity_of(a_.how.kind).board_id;
  for (std::size_t i = 0; i < std::strlen(id) && i < sizeof psid; ++i)
    psid[i ^ 3] = static_cast<std::byte>(id[i]);
  out.set_bytes<&l::psid>(psid);
  return command_checks(a_.rules).answer(c, out).status();
}

namespace {

template <class... Flag>
constexpr std::uint64_t all_of(Flag... f) {
  return (static_cast<std::uint64_t>(f) | ...);
}

/// The ports that can wake the host.
std::uint64_t waking_ports(const options& how) {
  using flag = layouts::dev_cap_flag;
  const auto of = [&how](unsigned port, flag f) {
    return may_be_ethernet(how, port) ? all_of(f) : 0;
  };
  return of(1, flag::wake_on_lan_port1) | of(2, flag::wake_on_lan_port2);
}

/// The flags that stand for a capability.
std::uint64_t offered_flags(const options& how) {
  using flag = layouts::dev_cap_flag;
  constexpr struct {
    capability what;
    std::uint64_t flags;
  } table[] = {
      {capability::unreliable_connection, all_of(flag::uc)},
      {capability::extended_reliable_connection, all_of(flag::xrc)},
      {capability::shared_receive_queues, all_of(flag::srq)},
      {capability::multicast, all_of(flag::ud_multicast)},
      {capability::b0_steering, all_of(flag::vep_uc_steering, flag::vep_mc_steering)},
      {capability::large_entries, all_of(flag::eqe_64b, flag::cqe_64b)},
      {capability::port_management_events, all_of(flag::port_management_change_event)},
      {capability::memory_windows, all_of(flag::memory_window)},
      {capability::path_migration, all_of(flag::automatic_path_migration)},
      {capability::ipoib_checksum, all_of(flag::ipoib_checksum)},
      {capability::two_link_layers, all_of(flag::dual_port_different_protocol)},
      {capability::large_send, all_of(flag::big_lso_header)},
      {capability::receive_side_scaling, all_of(flag::udp_rss, flag::rss_ip_fragments)},
      {capability::interface_counters, all_of(flag::counters)},
      {capability::keeps_fcs, all_of(flag::fcs_keep)},
      {capability::unicast_loopback, all_of(flag::uc_loopback)},
      {capability::roce, all_of(flag::roce)},
      {capability::port_sensing, all_of(flag::sense_port)},
  };
  std::uint64_t all = 0;
  for (const auto& row : table)
    if (offers(how, row.what)) all |= row.flags;
  if (offers(how, capability::wake_on_lan)) all |= waking_ports(how);
  return all;
}

std::uint64_t offered_bmme_flags(const options& how) {
  using flag = layouts::bmme_flag;
  const auto when = [&how](capability c, std::uint64_t flags) {
    return offers(how, c) ? flags : 0;
  };
  // Windows of type 2 are 2B: captures.
  return when(capability::reserved_lkey, all_of(flag::reserved_lkey)) |
         when(capability::memory_windows, all_of(flag::window_type_2, flag::window_type_2b)) |
         when(capability::memory_management,
              all_of(flag::local_invalidate, flag::remote_invalidate, flag::fast_register)) |
         when(capability::device_configuration, all_of(flag::config_dev)) |
         when(capability::ignores_fcs, all_of(flag::ignore_fcs)) |
         when(capability::roce_v2, all_of(flag::roce_v1_v2)) |
         when(capability::port_remap, all_of(flag::port_remap));
}

// The table of limits is below the room of ports.
static_assert(limits_connectx3_pro.counters == interface_counters::count &&
              limits_connectx3.counters == interface_counters::count &&
              limits_connectx2.counters == interface_counters::count);

/// What Ethernet ports have beside the flags.
void report_ethernet(const adapter& a, layouts::image<layouts::query_dev_cap>& out) {
  using l = layouts::query_dev_cap;
  using flag_2 = layouts::dev_cap_ext_2_flag;
  const auto has = [&a](capability c) { return offers(a.how, c); };
  if (has(capability::receive_side_scaling))
    out.set<&l::rss_toeplitz>(true).set<&l::rss_xor>(true).set<&l::log_max_rss_tbl_sz>(
        a.limits().log_rss_queues);
  if (has(capability::interface_counters)) out.set<&l::max_counters>(a.limits().counters);
  if (has(capability::loopback_source_check))
    out.set<&l::ext_2_flags>(
        all_of(flag_2::update_qp, flag_2::update_qp_src_check_lb, flag_2::lb_src_check));
  out.set<&l::eth_protocol_control>(has(capability::link_modes))
      .set<&l::port_beacon>(has(capability::port_beacon))
      .set<&l::qcn>(has(capability::congestion_notification));
}

std::uint64_t offered_ext_3_flags(const options& how) {
  using flag = layouts::dev_cap_ext_3_flag;
  return (counts_by_port(how.kind) ? all_of(flag::diag_per_port) : 0) |
         (offers(how, capability::vxlan) ? all_of(flag::vxlan_offloads) : 0) |
         (offers(how, capability::recoverable_errors) ? all_of(flag::recoverable_error_event) : 0) |
         (offers(how, capability::traffic_classes) ? all_of(flag::ets_cfg) : 0);
}

}  // namespace

command_status firmware::query_dev_cap(command& c) {
  using l = layouts::query_dev_cap;
  using flag = layouts::dev_cap_flag;
  const adapter_limits& have = a_.limits();
  layouts::image<l> out;

  // Only what the model does is reported: no virtual functions, no rate limits of queue pairs.
  out.set<&l::log_max_srq_sz>(have.log_work_queue_entries)
      .set<&l::log_max_qp_sz>(have.log_work_queue_entries);
  out.set<&l::log_rsvd_qps>(have.log_reserved_qps).set<&l::log_max_qps>(have.log_qps);
  out.set<&l::log_rsvd_srqs>(have.log_reserved_srqs).set<&l::log_max_srqs>(have.log_srqs);
  out.set<&l::num_rsvd_eqs>(have.reserved_eqs()).set<&l::log_rsvd_eqs>(have.log_reserved_eqs);
  out.set<&l::log_max_eq_sz>(have.log_eq_entries).set<&l::log_max_eqs>(have.log_eqs);
  out.set<&l::log_max_cq_sz>(have.log_cq_entries);
  out.set<&l::log_rsvd_cqs>(have.log_reserved_cqs).set<&l::log_max_cqs>(have.log_cqs);
  out.set<&l::log_max_mpts>(have.log_mpts)
      .set<&l::log_rsvd_mrws>(have.log_reserved_mpts)
      .set<&l::log_max_mrw_sz>(have.log_region_bytes);
  out.set<&l::log_rsvd_mtts>(have.log_reserved_mtts).set<&l::log_max_mtts>(have.log_mtts);
  out.set<&l::log_max_ra_req_qp>(have.log_read_resources)
      .set<&l::log_max_ra_res_qp>(have.log_read_resources)
      .set<&l::log_max_ra_res_global>(have.log_read_resources_in_all);
  // With the flag it promises large sends of datagrams (Linux hw/mlx4/main.c mlx4_ib_query_device).
  if (offers(a_.how, capability::large_send))
    out.set<&l::log_max_gso_sz>(have.log_large_send_bytes);
  out.set<&l::local_ca_ack_delay>(have.local_ca_ack_delay);
  out.set<&l::max_mtu_rev2>(have.mtu_code)
      .set<&l::max_port_width_rev2>(have.width_mask)
      .set<&l::max_vl_rev2>(have.log_vls + 1);
  out.set<&l::num_ports>(a_.how.ports);
  out.set<&l::log_max_msg_sz>(have.log_message_bytes)
      .set<&l::log_max_gid>(have.log_gids)
      .set<&l::log_max_pkey>(have.log_pkeys);
  out.set<&l::stat_rate_support>(0);
  out.set<&l::cq_timestamp>(clock_mhz() != 0);
  out.set<&l::flags>(all_of(flag::rc, flag::ud, flag::pkey_violation_counter,
                            flag::qkey_violation_counter, flag::atomic, flag::ud_av_port_check) |
                     offered_flags(a_.how));
  unsigned log_uar_mb = 0;
  while ((std::uint64_t{2} << (20 + log_uar_mb)) < a_.how.uar_bar_bytes) ++log_uar_mb;
  out.set<&l::num_rsvd_uars>(have.reserved_uars)
      .set<&l::uar_sz>(log_uar_mb)
      .set<&l::log_page_sz>(have.log_least_page_bytes);
  // The half of BAR2 that the UAR pages leave, in pages of 4 KB.
  out.set<&l::bf>(offers(a_.how, capability::blueflame))
      .set<&l::log_bf_reg_sz>(have.log_blueflame_bytes)
      .set<&l::log_max_bf_regs_per_page>(have.log_blueflames_per_page)
      .set<&l::log_max_bf_pages>(log_uar_mb + 20 - 12);
  out.set<&l::max_sg_sq>(have.send_segments).set<&l::max_desc_sz_sq>(have.send_wqe_bytes);
  out.set<&l::max_sg_rq>(have.receive_segments).set<&l::max_desc_sz_rq>(have.receive_wqe_bytes);
  out.set<&l::log_max_qp_mcg>(have.log_group_members).set<&l::log_max_mcgs>(have.log_groups);
  out.set<&l::num_rsvd_pds>(have.reserved_pds).set<&l::log_max_pds>(have.log_pds);
  out.set<&l::log_max_xrcds>(have.log_xrc_domains);
  out.set<&l::rdmarc_entry_sz>(entry_bytes::rdmarc).set<&l::qpc_entry_sz>(entry_bytes::qpc);
  out.set<&l::aux_entry_sz>(entry_bytes::auxc).set<&l::altc_entry_sz>(entry_bytes::altc);
  out.set<&l::eqc_entry_sz>(entry_bytes::eqc).set<&l::cqc_entry_sz>(entry_bytes::cqc);
  out.set<&l::srq_entry_sz>(entry_bytes::srqc).set<&l::c_mpt_entry_sz>(entry_bytes::cmpt);
  out.set<&l::mtt_entry_sz>(entry_bytes::mtt).set<&l::d_mpt_entry_sz>(entry_bytes::dmpt);
  if (offers(a_.how, capability::reserved_lkey)) out.set<&l::reserved_lkey>(have.reserved_lkey);
  out.set<&l::bmme_flags>(offered_bmme_flags(a_.how));
  if (offers(a_.how, capability::device_managed_steering)) {
    out.set<&l::dmfs>(true).set<&l::dmfs_max_qp_per_entry>(have.rules_per_group);
    out.set<&l::dmfs_log_max_uc_range>(have.log_steered_qps);
    out.set<&l::dmfs_ipoib>(offers(a_.how, capability::ipoib_steering));
  }
  report_ethernet(a_, out);
  out.set<&l::ext_3_flags>(offered_ext_3_flags(a_.how));
  out.set<&l::max_icm_sz>(have.icm_bytes);
  return command_checks(a_.rules).answer(c, out).status();
}

}  // namespace freehca::model
