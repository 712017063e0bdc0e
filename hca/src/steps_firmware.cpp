// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps that start the firmware and query its properties. Order: Linux 6.1 main.c mlx4_init_fw,
// mlx4_init_hca.
#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/hal/fields.hpp>

#include "steps.hpp"

namespace freehca {

namespace {

constexpr unsigned capability_tries = 3;
constexpr std::uint64_t capability_pause = clock::milliseconds(10);

}  // namespace

status device::steps::query_fw(device& d) {
  const auto* const c = ask<commands::query_fw>(d);
  if (c == nullptr) return {};
  const auto& o = c->output;
  using fw = layouts::query_fw;
  static constexpr auto rows =
      fields_of<fw>(FREEHCA_FIELD(device_info, firmware_major, &fw::fw_rev_major),
                    FREEHCA_FIELD(device_info, firmware_minor, &fw::fw_rev_minor),
                    FREEHCA_FIELD(device_info, firmware_subminor, &fw::fw_rev_subminor),
                    FREEHCA_FIELD(device_info, command_interface, &fw::cmd_interface_rev));
  load(rows, o, d.info_);
  // Revision 2 has other port commands. The changes of later revisions are unknown (Linux 6.1 fw.c
  // mlx4_QUERY_FW refuses both too).
  if (d.info_.command_interface != layouts::cmd_interface_rev_max) return driver_error::unsupported;
  const unsigned log_commands = static_cast<unsigned>(o.get<&fw::log_max_outstanding_cmd>());
  d.info_.most_commands = log_commands > 15 ? 1u << 15 : 1u << log_commands;
  d.firmware_pages_ = static_cast<std::uint32_t>(o.get<&fw::fw_pages>());
  if (d.firmware_pages_ == 0) return transport_error::bad_reply;
  if (const std::size_t most = d.control_.areas.bytes / dma_arena::page; d.firmware_pages_ > most)
    return exceeds(d, budget::item::firmware_area, d.firmware_pages_, most);
  // Without this register, the driver does not use the line interrupt.
  d.clear_interrupt_.store(
      registers_at(d, static_cast<unsigned>(o.get<&fw::clr_int_bar>()) * 2,
                   o.get<&fw::clr_int_base>(), layouts::clear_interrupt_size / 4),
      std::memory_order_relaxed);
  find_error_buffer(d, static_cast<unsigned>(o.get<&fw::error_buf_bar>()) * 2,
                    o.get<&fw::error_buf_offset>(), o.get<&fw::error_buf_size>());
  return {};
}

std::byte* device::steps::registers_at(const device& d, unsigned bar, std::uint64_t at,
                                       std::uint64_t words) {
  const mmio_region in = bar == 0 ? d.bar0_ : bar == 2 ? d.bar2_ : mmio_region();
  const bool inside = at % 4 == 0 && at < in.bytes && words - 1 < (in.bytes - at) / 4;
  return inside ? in.base + at : nullptr;
}

/// Finds the error buffer. Without it, an internal error shows only as commands without an answer.
/// The device is usable, so the driver only writes a warning to the log.
void device::steps::find_error_buffer(device& d, unsigned bar, std::uint64_t at,
                                      std::uint64_t words) {
  std::byte* const buffer = registers_at(d, bar, at, words);
  d.health_.set_buffer(buffer);
  d.info_.internal_errors_show = buffer != nullptr;
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
  return d.sequence_.send(1);
}

status device::steps::take_back_area(device& d, lent_area& area, layouts::opcode how) {
  if (area.lent) {
    if (d.sequence_.phase == 0) {
      auto& c = d.sequence_.make<commands::unmap_fa>();
      c.request.opcode = how;
      area.lent_before = true;
      c.put_at_risk(area.at_risk);
      return d.sequence_.send(1);
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
  return d.sequence_.send(over);
}

status device::steps::mod_stat_cfg(device& d) {
  if (d.sequence_.phase == 0) {
    auto& c = d.sequence_.make<commands::mod_stat_cfg>();
    c.input.set<&layouts::mod_stat_cfg::log_pg_sz_m>(true);
    c.input.set<&layouts::mod_stat_cfg::log_pg_sz>(0);
    return d.sequence_.send(1);
  }
  const status s = d.sequence_.answer();
  // Firmware without this command has the requested page size (Linux only warns).
  return s.is(layouts::command_status::bad_operation) ? status() : s;
}

/// Converts QUERY_DEV_CAP to plain numbers.
void device::steps::take_capabilities(const layouts::image<layouts::query_dev_cap>& o,
                                      const budget& b, freehca::capabilities& k) {
  using cap = layouts::query_dev_cap;
#define FREEHCA_ROW(member, field) FREEHCA_FIELD(freehca::capabilities, member, &cap::field)
#define FREEHCA_POWER_ROW(member, field) \
  FREEHCA_FIELD_AS(freehca::capabilities, member, &cap::field, power_of_2{})
  static constexpr auto rows = fields_of<cap>(
      FREEHCA_ROW(ports, num_ports), FREEHCA_POWER_ROW(reserved_qps, log_rsvd_qps),
      FREEHCA_POWER_ROW(reserved_srqs, log_rsvd_srqs),
      FREEHCA_POWER_ROW(reserved_cqs, log_rsvd_cqs), FREEHCA_POWER_ROW(reserved_eqs, log_rsvd_eqs),
      FREEHCA_POWER_ROW(reserved_mpts, log_rsvd_mrws),
      FREEHCA_POWER_ROW(reserved_mtts, log_rsvd_mtts), FREEHCA_ROW(reserved_pds, num_rsvd_pds),
      FREEHCA_ROW(reserved_uars, num_rsvd_uars), FREEHCA_ROW(reserved_lkey, reserved_lkey),
      FREEHCA_ROW(most_qp_wqe_bytes_sq, max_desc_sz_sq),
      FREEHCA_ROW(most_qp_wqe_bytes_rq, max_desc_sz_rq), FREEHCA_ROW(most_gather, max_sg_sq),
      FREEHCA_ROW(most_scatter, max_sg_rq), FREEHCA_ROW(log_most_wqes, log_max_qp_sz),
      FREEHCA_ROW(log_most_cqes, log_max_cq_sz), FREEHCA_ROW(log_most_srq_wqes, log_max_srq_sz),
      FREEHCA_ROW(log_most_pds, log_max_pds), FREEHCA_POWER_ROW(most_message_bytes, log_max_msg_sz),
      FREEHCA_ROW(local_ack_delay, local_ca_ack_delay),
      FREEHCA_ROW(log_blueflame_bytes, log_bf_reg_sz));
#undef FREEHCA_ROW
#undef FREEHCA_POWER_ROW
  k = {};
  k.raw = o;
  load(rows, o, k);
  if (k.reserved_eqs < o.get<&cap::num_rsvd_eqs>())
    k.reserved_eqs = static_cast<unsigned>(o.get<&cap::num_rsvd_eqs>());
  // An EQ whose doorbell is in a reserved page is reserved too (Linux fw.c mlx4_QUERY_DEV_CAP).
  const auto in_reserved_pages = k.reserved_uars * layouts::uar::eq_doorbells_per_page;
  if (k.reserved_eqs < in_reserved_pages) k.reserved_eqs = in_reserved_pages;
  if (!k.has(layouts::bmme_flag::reserved_lkey)) k.reserved_lkey = 0;
  // As a responder, a QP has at most as many entries in the RDMARC table as the budget gives it.
  const unsigned responder = static_cast<unsigned>(o.get<&cap::log_max_ra_res_qp>());
  const unsigned lent = b.log_rdmarc_per_qp;
  k.most_reads_as_responder = 1u << (responder < lent ? responder : lent);
  k.most_reads_as_requester =
      1u << (o.get<&cap::log_max_ra_req_qp>() < 7 ? o.get<&cap::log_max_ra_req_qp>() : 7);
  k.log_smallest_page = 12;  // as MOD_STAT_CFG requested
  if (!o.get<&cap::bf>()) k.log_blueflame_bytes = 0;
  // Both sizes are 64, or both are 32, as in Linux.
  const bool large = k.has(layouts::dev_cap_flag::cqe_64b) && k.has(layouts::dev_cap_flag::eqe_64b);
  k.cqe_bytes = k.eqe_bytes = large ? 64 : 32;
}

status device::steps::query_dev_cap(device& d) {
  const auto* const c = ask<commands::query_dev_cap>(d);
  if (c == nullptr) return {};
  using cap = layouts::query_dev_cap;
  const auto& o = c->output;
  // Right after its start, firmware may answer with invalid values, such as no context memory
  // (Theseus mlx4).
  const bool sensible = o.get<&cap::num_ports>() >= 1 && o.get<&cap::num_ports>() <= most_ports &&
                        o.get<&cap::log_max_qps>() != 0 && o.get<&cap::qpc_entry_sz>() != 0 &&
                        o.get<&cap::max_icm_sz>() != 0 && o.get<&cap::log_page_sz>() <= 12 &&
                        o.get<&cap::uar_sz>() <= 10;
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
  const auto* const c = ask<commands::query_adapter>(d);
  if (c == nullptr) return {};
  d.interrupt_pin_.store(static_cast<unsigned>(c->output.get<&layouts::query_adapter::inta_pin>()),
                         std::memory_order_relaxed);
  // The firmware returns the bytes of each word swapped (query_adapter.hpp).
  const std::byte* psid = c->output.bytes_of<&layouts::query_adapter::psid>();
  for (unsigned i = 0; i < 16; ++i) {
    const char letter = static_cast<char>(psid[i ^ 3]);
    d.info_.board_id[i] = letter > ' ' && letter <= '~' ? letter : '\0';
  }
  return {};
}

}  // namespace freehca
