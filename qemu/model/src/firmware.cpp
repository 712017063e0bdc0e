// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "firmware.hpp"

#include <algorithm>

#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "completion_queues.hpp"
#include "event_queues.hpp"
#include "icm.hpp"
#include "identity.hpp"
#include "limits.hpp"
#include "memory_regions.hpp"
#include "ports.hpp"
#include "transport.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::opcode;

firmware::firmware(adapter& a) : a_(a) {
  const auto on = [this](opcode o, command_status (firmware::*handler)(command&)) {
    a_.commands.on(o, [this, handler](command& c) { return (this->*handler)(c); });
  };
  on(opcode::query_fw, &firmware::query_fw);
  on(opcode::query_dev_cap, &firmware::query_dev_cap);
  on(opcode::query_adapter, &firmware::query_adapter);
  on(opcode::map_fa, &firmware::map_fa);
  on(opcode::unmap_fa, &firmware::unmap_fa);
  on(opcode::run_fw, &firmware::run_fw);
  on(opcode::mod_stat_cfg, &firmware::mod_stat_cfg);
  on(opcode::set_icm_size, &firmware::set_icm_size);
  on(opcode::map_icm_aux, &firmware::map_icm_aux);
  on(opcode::unmap_icm_aux, &firmware::unmap_icm_aux);
  on(opcode::map_icm, &firmware::map_icm);
  on(opcode::unmap_icm, &firmware::unmap_icm);
  on(opcode::init_hca, &firmware::init_hca);
  on(opcode::query_hca, &firmware::query_hca);
  on(opcode::close_hca, &firmware::close_hca);
  on(opcode::nop, &firmware::nop);
  on(opcode::hw_health_check, &firmware::nop);
  a.counters.add("firmware_pages", firmware_pages_);
  a.counters.add("auxiliary_pages", auxiliary_pages_);
  count_profile();
}

unsigned firmware::clock_mhz() const {
  return offers(a_.how, capability::clock) ? identity_of(a_.how.kind).clock_mhz : 0;
}

std::uint64_t firmware::clock_ticks() const {
  return model::clock_ticks(a_.how.kind, a_.work.now());
}

void firmware::clear() {
  state_ = system_state::cold;
  firmware_pages_ = auxiliary_pages_ = icm_bytes_ = auxiliary_needed_ = 0;
  initial_ = {};
}

/// Calls one(va, pa, pages) for each chunk of a MAP command, until one is refused.
template <class One>
static command_status for_each_chunk(command& c, One&& one) {
  if (c.input_modifier == 0 || c.input_modifier > layouts::map_entries_per_mailbox)
    return command_status::bad_parameter;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < c.input_modifier; ++i) {
    layouts::image<layouts::map_entry> e;
    if (!c.read_input(e, i * e.size())) return command_status::internal_error;
    const auto log = static_cast<unsigned>(e.get<&layouts::map_entry::log2size>());
    if (log > 24) return command_status::bad_parameter;
    const std::uint64_t pages = std::uint64_t{1} << log;
    const std::uint64_t pa = e.get<&layouts::map_entry::pa>();
    total += pages;
    if (total > limits::pages_per_map) return command_status::exceeds_limits;
    if (pa % (pages << layouts::icm_page_shift) != 0) return command_status::bad_parameter;
    if (const command_status s = one(e.get<&layouts::map_entry::va>(), pa, pages);
        s != command_status::ok)
      return s;
  }
  return command_status::ok;
}

/// Takes the chunks of MAP_FA or MAP_ICM_AUX, adds their pages to `count` and overwrites them.
command_status firmware::take_pages(command& c, std::uint64_t& count) {
  return for_each_chunk(c, [&](std::uint64_t, std::uint64_t pa, std::uint64_t pages) {
    if (!fill_with_pattern(a_.memory, pa, pages << layouts::icm_page_shift))
      return command_status::internal_error;
    count += pages;
    return command_status::ok;
  });
}

command_status firmware::map_fa(command& c) {
  // Several commands may bring the area in pieces; none after RUN_FW.
  if (state_ > system_state::firmware_mapped) return command_status::bad_system_state;
  const command_status s = take_pages(c, firmware_pages_);
  if (s == command_status::ok) state_ = system_state::firmware_mapped;
  return s;
}

command_status firmware::unmap_fa(command&) {
  if (state_ == system_state::hca_running || a_.context_memory->pages_mapped() != 0 ||
      auxiliary_pages_ != 0)
    return command_status::bad_system_state;
  clear();
  return command_status::ok;
}

command_status firmware::run_fw(command&) {
  if (state_ != system_state::firmware_mapped) return command_status::bad_system_state;
  // No source for the status: chosen.
  if (firmware_pages_ < firmware_pages_needed) return command_status::exceeds_limits;
  state_ = system_state::firmware_running;
  return command_status::ok;
}

command_status firmware::mod_stat_cfg(command& c) {
  using modifier = layouts::mod_stat_cfg_modifier;
  layouts::image<layouts::mod_stat_cfg_input_modifier> m;
  layouts::store_be(m.data(), c.input_modifier);
  const auto port = static_cast<unsigned>(m.get<&layouts::mod_stat_cfg_input_modifier::port>());
  switch (static_cast<modifier>(c.opcode_modifier)) {
    case modifier::set: {
      layouts::image<layouts::mod_stat_cfg> in;
      if (!c.read_input(in)) return command_status::internal_error;
      // The smallest page is what it is: 512 bytes work whatever is asked for, and 4 KB is the default.
      if (in.get<&layouts::mod_stat_cfg::log_pg_sz_m>() &&
          in.get<&layouts::mod_stat_cfg::log_pg_sz>() != 0)
        return command_status::bad_parameter;
      return command_status::ok;
    }
    case modifier::query: {
      if (port < 1 || port > a_.how.ports) return command_status::bad_parameter;
      const std::uint64_t guid = a_.how.node_guid + port;
      layouts::image<layouts::mod_stat_cfg> out;
      out.set<&layouts::mod_stat_cfg::guid_hi>(guid >> 32);
      out.set<&layouts::mod_stat_cfg::guid_lo>(guid & 0xffffffff);
      return c.write_output(out) ? command_status::ok : command_status::internal_error;
    }
    case modifier::query_immediate:
      // Wake-on-LAN is not among the reported capabilities: nothing is set.
      c.output_parameter = 0;
      return command_status::ok;
    case modifier::set_immediate:
      break;
  }
  return command_status::bad_operation;
}

command_status firmware::set_icm_size(command& c) {
  if (state_ == system_state::hca_running || a_.context_memory->pages_mapped() != 0)
    return command_status::bad_system_state;
  if (c.input_parameter == 0) return command_status::bad_parameter;
  if (c.input_parameter > a_.limits().icm_bytes) return command_status::exceeds_limits;
  icm_bytes_ = c.input_parameter;
  // Eight bytes of translation for each page of ICM. No source: chosen.
  const std::uint64_t icm_pages =
      (icm_bytes_ + layouts::icm_page_size - 1) >> layouts::icm_page_shift;
  auxiliary_needed_ = (icm_pages * 8 + layouts::icm_page_size - 1) >> layouts::icm_page_shift;
  c.output_parameter = auxiliary_needed_;
  return command_status::ok;
}

command_status firmware::map_icm_aux(command& c) {
  if (icm_bytes_ == 0 || state_ == system_state::hca_running)
    return command_status::bad_system_state;
  return take_pages(c, auxiliary_pages_);
}

command_status firmware::unmap_icm_aux(command&) {
  if (state_ == system_state::hca_running || a_.context_memory->pages_mapped() != 0)
    return command_status::bad_system_state;
  auxiliary_pages_ = 0;
  return command_status::ok;
}

command_status firmware::map_icm(command& c) {
  if (icm_bytes_ == 0) return command_status::bad_system_state;
  if (auxiliary_pages_ < auxiliary_needed_) return command_status::icm_error;
  return for_each_chunk(c, [this](std::uint64_t va, std::uint64_t pa, std::uint64_t pages) {
    const std::uint64_t bytes = pages << layouts::icm_page_shift;
    if (va % bytes != 0) return command_status::bad_parameter;
    if (const command_status s = a_.context_memory->map(va, pa, pages); s != command_status::ok)
      return s;
    // Multicast entries read as empty from INIT_HCA on, those that are lent later too.
    const hca_profile& p = a_.profile;
    const std::uint64_t groups =
        p.mc_base + (std::uint64_t{1} << (p.log_mc_table + p.log_mc_entry_bytes));
    if (!p.running || va >= groups || va + bytes <= p.mc_base) return command_status::ok;
    const std::uint64_t low = std::max(va, p.mc_base);
    return a_.context_memory->zero(low, std::min(va + bytes, groups) - low)
               ? command_status::ok
               : command_status::internal_error;
  });
}

command_status firmware::unmap_icm(command& c) {
  if (c.input_parameter % layouts::icm_page_size != 0) return command_status::bad_parameter;
  return a_.context_memory->unmap(c.input_parameter, c.input_modifier);
}

command_status firmware::nop(command&) {
  return command_status::ok;
}

}  // namespace freehca::model
