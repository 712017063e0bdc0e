// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps that start the firmware and query its properties. Order: Linux 6.1 main.c mlx4_init_fw,
// mlx4_init_hca.
#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/query.hpp>

#include "steps.hpp"

namespace freehca {

namespace {

constexpr unsigned capability_tries = 3;
constexpr std::uint64_t capability_pause = clock::milliseconds(10);

}  // namespace

status device::steps::query_fw(device& d) {
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::query_fw>();
    return send(d, 1);
  }
  const auto& c = d.sequence_.made<commands::query_fw>();
  using l = layouts::query_fw;
  const auto& o = c.output;
  d.info_.firmware_major = static_cast<std::uint16_t>(o.get<&l::fw_rev_major>());
  d.info_.firmware_minor = static_cast<std::uint16_t>(o.get<&l::fw_rev_minor>());
  d.info_.firmware_subminor = static_cast<std::uint16_t>(o.get<&l::fw_rev_subminor>());
  d.info_.command_interface = static_cast<unsigned>(o.get<&l::cmd_interface_rev>());
  // Revision 2 has other port commands. The changes of later revisions are unknown (Linux 6.1 fw.c
  // mlx4_QUERY_FW refuses both too).
  if (d.info_.command_interface != layouts::cmd_interface_rev_max) return driver_error::unsupported;
  const unsigned log_commands = static_cast<unsigned>(o.get<&l::log_max_outstanding_cmd>());
  d.info_.most_commands = log_commands > 15 ? 1u << 15 : 1u << log_commands;
  d.firmware_pages_ = static_cast<std::uint32_t>(o.get<&l::fw_pages>());
  if (d.firmware_pages_ == 0) return transport_error::bad_reply;
  if (const std::size_t most = d.control_.areas.bytes / dma_arena::page; d.firmware_pages_ > most)
    return exceeds(d, budget::item::firmware_area, d.firmware_pages_, most);
  find_error_buffer(d, static_cast<unsigned>(o.get<&l::error_buf_bar>()) * 2,
                    o.get<&l::error_buf_offset>(), o.get<&l::error_buf_size>());
  return {};
}

/// Finds the error buffer. Without it, an internal error shows only as commands without an answer.
/// The device is usable, so the driver only writes a warning to the log.
void device::steps::find_error_buffer(device& d, unsigned bar, std::uint64_t at,
                                      std::uint64_t words) {
  const mmio_region in = bar == 0 ? d.bar0_ : bar == 2 ? d.bar2_ : mmio_region();
  d.info_.internal_errors_show = d.health_.find_buffer(in, at, words);
  if (d.info_.internal_errors_show) {
    d.info_.error_buffer_bar = static_cast<std::uint8_t>(bar);
    d.info_.error_buffer = static_cast<std::uint32_t>(at);
    d.info_.error_buffer_words = static_cast<std::uint32_t>(words);
    return;
  }
  d.setup_.platform.log({log_topic::no_error_buffer, severity::warning, nullptr, {words, at, bar}});
}

/// Reports that the device asks for more than the budget has: in failure() and in the log.
status device::steps::exceeds(device& d, budget::item what, std::uint64_t asked,
                              std::uint64_t bound) {
  d.sequence_.failure.asked = asked;
  d.sequence_.failure.bound = bound;
  const unsigned item = static_cast<unsigned>(what);
  d.setup_.platform.log(
      {log_topic::exceeds_limits, severity::error, nullptr, {asked, item, bound}});
  return status(driver_error::exceeds_limits, item);
}

// lend_area() lends an area of the memory for areas, from page `first` on, in as many commands as
// needed. MAP_FA and MAP_ICM_AUX differ only in their opcodes, and so do UNMAP_FA and
// UNMAP_ICM_AUX.

status device::steps::lend_area(device& d, lent_area& area, std::size_t first, std::size_t pages,
                                layouts::opcode how) {
  constexpr std::size_t page = dma_arena::page;
  if (d.sequence_.phase == 0) {
    area.memory = d.control_.areas.part(first * page, pages * page);
    area.named = 0;
  } else {
    if (!d.sequence_.answer().ok() && !area.at_risk.in_doubt()) area.lent = area.lent_before;
    FREEHCA_TRY(d.sequence_.answer());
  }
  if (area.named == area.memory.bytes) return {};
  unsigned count = 0;
  for (; area.named != area.memory.bytes && count < layouts::map_entries_per_mailbox; ++count) {
    using entry = layouts::map_entry;
    // Each entry is as large as its address and the rest of the area allow.
    const std::uint64_t at = area.memory.device_address + area.named;
    unsigned log = d.setup_.budget.log_largest_lent_run;
    while ((at & ((page << log) - 1)) != 0 || page << log > area.memory.bytes - area.named) --log;
    d.control_.area_entries[count] = {};
    d.control_.area_entries[count].set<&entry::pa>(at).set<&entry::log2size>(log);
    area.named += page << log;
  }
  auto& c = d.sequence_.make<commands::map_fa>();
  c.request.opcode = how;
  c.set_input(d.control_.area_entries, count);
  area.lent_before = area.lent;
  area.lent = true;
  area.at_risk.set_amount(lease_kind::page, static_cast<std::uint32_t>(area.memory.bytes / page));
  c.put_at_risk(area.at_risk);
  return send(d, 1);
}

status device::steps::take_back_area(device& d, lent_area& area, layouts::opcode how) {
  if (area.lent) {
    if (d.sequence_.phase == 0) {
      auto& c = d.sequence_.make<commands::unmap_fa>();
      c.request.opcode = how;
      area.lent_before = true;
      c.put_at_risk(area.at_risk);
      return send(d, 1);
    }
    FREEHCA_TRY(d.sequence_.answer());
    area.lent = false;
  }
  area.memory = {};
  return {};
}

status device::steps::map_fa(device& d) {
  return lend_area(d, d.firmware_, 0, d.firmware_pages_, layouts::opcode::map_fa);
}

status device::steps::unmap_fa(device& d) {
  return take_back_area(d, d.firmware_, layouts::opcode::unmap_fa);
}

status device::steps::map_icm_aux(device& d) {
  return lend_area(d, d.auxiliary_, d.firmware_pages_, d.auxiliary_pages_,
                   layouts::opcode::map_icm_aux);
}

status device::steps::unmap_icm_aux(device& d) {
  return take_back_area(d, d.auxiliary_, layouts::opcode::unmap_icm_aux);
}

status device::steps::run_fw(device& d) {
  d.sequence_.make<commands::run_fw>();
  return send(d, over);
}

status device::steps::mod_stat_cfg(device& d) {
  if (d.sequence_.phase == 0) {
    auto& c = d.sequence_.make<commands::mod_stat_cfg>();
    c.input.set<&layouts::mod_stat_cfg::log_pg_sz_m>(true);
    c.input.set<&layouts::mod_stat_cfg::log_pg_sz>(0);
    return send(d, 1);
  }
  const status s = d.sequence_.answer();
  // Firmware without this command has the requested page size (Linux only warns).
  return s.is(layouts::command_status::bad_operation) ? status() : s;
}

/// Converts QUERY_DEV_CAP to plain numbers.
void device::steps::take_capabilities(const layouts::image<layouts::query_dev_cap>& o,
                                      const budget& b, freehca::capabilities& k) {
  using l = layouts::query_dev_cap;
  k = {};
  k.raw = o;
  k.ports = static_cast<unsigned>(o.get<&l::num_ports>());
  k.reserved_qps = 1u << o.get<&l::log_rsvd_qps>();
  k.reserved_srqs = 1u << o.get<&l::log_rsvd_srqs>();
  k.reserved_cqs = 1u << o.get<&l::log_rsvd_cqs>();
  k.reserved_eqs = 1u << o.get<&l::log_rsvd_eqs>();
  if (k.reserved_eqs < o.get<&l::num_rsvd_eqs>())
    k.reserved_eqs = static_cast<unsigned>(o.get<&l::num_rsvd_eqs>());
  k.reserved_mpts = 1u << o.get<&l::log_rsvd_mrws>();
  k.reserved_mtts = 1u << o.get<&l::log_rsvd_mtts>();
  k.reserved_pds = static_cast<unsigned>(o.get<&l::num_rsvd_pds>());
  k.reserved_uars = static_cast<unsigned>(o.get<&l::num_rsvd_uars>());
  // An EQ whose doorbell is in a reserved page is reserved too (Linux fw.c mlx4_QUERY_DEV_CAP).
  const auto in_reserved_pages = k.reserved_uars * layouts::uar::eq_doorbells_per_page;
  if (k.reserved_eqs < in_reserved_pages) k.reserved_eqs = in_reserved_pages;
  k.reserved_lkey = k.has(layouts::bmme_flag::reserved_lkey)
                        ? static_cast<std::uint32_t>(o.get<&l::reserved_lkey>())
                        : 0;
  k.most_qp_wqe_bytes_sq = static_cast<std::uint32_t>(o.get<&l::max_desc_sz_sq>());
  k.most_qp_wqe_bytes_rq = static_cast<std::uint32_t>(o.get<&l::max_desc_sz_rq>());
  k.most_gather = static_cast<unsigned>(o.get<&l::max_sg_sq>());
  k.most_scatter = static_cast<unsigned>(o.get<&l::max_sg_rq>());
  k.log_most_wqes = static_cast<unsigned>(o.get<&l::log_max_qp_sz>());
  k.log_most_cqes = static_cast<unsigned>(o.get<&l::log_max_cq_sz>());
  k.log_most_srq_wqes = static_cast<unsigned>(o.get<&l::log_max_srq_sz>());
  k.log_most_pds = static_cast<unsigned>(o.get<&l::log_max_pds>());
  k.most_message_bytes = std::uint64_t{1} << o.get<&l::log_max_msg_sz>();
  // As a responder, a QP has at most as many entries in the RDMARC table as the budget gives it.
  const unsigned responder = static_cast<unsigned>(o.get<&l::log_max_ra_res_qp>());
  const unsigned lent = b.log_rdmarc_per_qp;
  k.most_reads_as_responder = 1u << (responder < lent ? responder : lent);
  k.most_reads_as_requester =
      1u << (o.get<&l::log_max_ra_req_qp>() < 7 ? o.get<&l::log_max_ra_req_qp>() : 7);
  k.log_smallest_page = 12;  // as MOD_STAT_CFG requested
  k.local_ack_delay = static_cast<unsigned>(o.get<&l::local_ca_ack_delay>());
  k.log_blueflame_bytes = o.get<&l::bf>() ? static_cast<unsigned>(o.get<&l::log_bf_reg_sz>()) : 0;
  // Both sizes are 64, or both are 32, as in Linux.
  const bool large = k.has(layouts::dev_cap_flag::cqe_64b) && k.has(layouts::dev_cap_flag::eqe_64b);
  k.cqe_bytes = k.eqe_bytes = large ? 64 : 32;
}

status device::steps::query_dev_cap(device& d) {
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::query_dev_cap>();
    return send(d, 1);
  }
  const auto& c = d.sequence_.made<commands::query_dev_cap>();
  using l = layouts::query_dev_cap;
  const auto& o = c.output;
  // Right after its start, firmware may answer with invalid values, such as no context memory
  // (Theseus mlx4).
  const bool sensible = o.get<&l::num_ports>() >= 1 && o.get<&l::num_ports>() <= most_ports &&
                        o.get<&l::log_max_qps>() != 0 && o.get<&l::qpc_entry_sz>() != 0 &&
                        o.get<&l::max_icm_sz>() != 0 && o.get<&l::log_page_sz>() <= 12 &&
                        o.get<&l::uar_sz>() <= 10;
  if (!sensible) {
    if (++d.sequence_.item == capability_tries) return transport_error::bad_reply;
    d.sequence_.phase = 0;
    return later(d, capability_pause);
  }
  take_capabilities(o, d.setup_.budget, d.capabilities_);
  d.info_.ports = d.capabilities_.ports;
  return {};
}

status device::steps::query_adapter(device& d) {
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::query_adapter>();
    return send(d, 1);
  }
  const auto& c = d.sequence_.made<commands::query_adapter>();
  // The firmware returns the bytes of each word swapped (query_adapter.hpp).
  const std::byte* psid = c.output.bytes_of<&layouts::query_adapter::psid>();
  for (unsigned i = 0; i < 16; ++i) {
    const char letter = static_cast<char>(psid[i ^ 3]);
    d.info_.board_id[i] = letter > ' ' && letter <= '~' ? letter : '\0';
  }
  return {};
}

}  // namespace freehca
