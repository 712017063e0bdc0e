// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "firmware.hpp"

#include <algorithm>

#include <freehca/layouts/mod_stat_cfg.hpp>

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "completion_queues.hpp"
#include "event_queues.hpp"
#include "icm.hpp"
#include "identity.hpp"
#include "map_walk.hpp"
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
  initialising_ = false;
  ++epoch_;
}

/// Takes the chunks of MAP_FA or MAP_ICM_AUX, and adds their pages to `count`. At the end `done` is called.
command_status firmware::take_pages(command& c, std::uint64_t& count, void (firmware::*done)()) {
  return c.in_slices(
      [this, walk = map_walk(c), &count, done, epoch = epoch_]() mutable -> map_walk::result {
        // What it adds to has been given back meanwhile.
        if (epoch != epoch_) return command_status::bad_system_state;
        const map_walk::result s = walk.step(
            a_.memory, a_.account, [](const map_walk::chunk&) { return command_status::ok; },
            [&count](const map_walk::chunk& taken) {
              count += taken.pages;
              return map_walk::result(command_status::ok);
            });
        if (s == command_status::ok) (this->*done)();
        return s;
      });
}

command_status firmware::map_fa(command& c) {
  // Several commands may bring the area in pieces; none after RUN_FW.
  if (state_ > system_state::firmware_mapped) return command_status::bad_system_state;
  return take_pages(c, firmware_pages_, &firmware::firmware_area_taken);
}

void firmware::firmware_area_taken() {
  if (state_ == system_state::cold) state_ = system_state::firmware_mapped;
}

command_status firmware::unmap_fa(command&) {
  if (state_ == system_state::hca_running || initialising_ ||
      a_.context_memory->pages_mapped() != 0 || auxiliary_pages_ != 0)
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
  return take_pages(c, auxiliary_pages_, &firmware::auxiliary_area_taken);
}

command_status firmware::unmap_icm_aux(command&) {
  if (state_ == system_state::hca_running || initialising_ ||
      a_.context_memory->pages_mapped() != 0)
    return command_status::bad_system_state;
  auxiliary_pages_ = 0;
  ++epoch_;
  return command_status::ok;
}

command_status firmware::map_icm(command& c) {
  if (icm_bytes_ == 0) return command_status::bad_system_state;
  if (auxiliary_pages_ < auxiliary_needed_) return command_status::icm_error;
  // `zeroed`: of the chunk that was lent last, how far.
  return c.in_slices([this, walk = map_walk(c), zeroed = std::optional<std::uint64_t>(),
                      epoch = epoch_]() mutable -> map_walk::result {
    if (epoch != epoch_) return command_status::bad_system_state;
    icm& memory = *a_.context_memory;
    const auto may = [&memory](const map_walk::chunk& k) {
      return k.va % k.bytes() != 0 ? command_status::bad_parameter : memory.may_map(k.va, k.pages);
    };
    return walk.step(a_.memory, a_.account, may,
                     [this, &memory, &zeroed](const map_walk::chunk& k) -> map_walk::result {
                       if (!zeroed) {
                         // Another command may have been quicker.
                         if (const auto s = memory.may_map(k.va, k.pages); s != command_status::ok)
                           return s;
                         memory.map(k.va, k.pa, k.pages);
                         zeroed = k.va;
                       }
                       const map_walk::result s = empty_groups(*zeroed, k.va + k.bytes());
                       if (s) zeroed.reset();
                       return s;
                     });
  });
}

/// Multicast entries read as empty from INIT_HCA on, those that are lent later too.
std::optional<command_status> firmware::empty_groups(std::uint64_t& from, std::uint64_t end) {
  const hca_profile& p = a_.profile;
  const std::uint64_t groups =
      p.mc_base + (std::uint64_t{1} << (p.log_mc_table + p.log_mc_entry_bytes));
  if (!p.running || from >= groups || end <= p.mc_base) return command_status::ok;
  from = std::max(from, p.mc_base);
  end = std::min(end, groups);
  if (!a_.context_memory->zero(from, end)) return command_status::internal_error;
  if (from < end) return std::nullopt;
  return command_status::ok;
}

command_status firmware::unmap_icm(command& c) {
  if (initialising_) return command_status::bad_system_state;
  if (c.input_parameter % layouts::icm_page_size != 0) return command_status::bad_parameter;
  return c.in_slices([this, va = c.input_parameter, pages = std::uint64_t{c.input_modifier}] {
    return a_.context_memory->unmap(va, pages);
  });
}

command_status firmware::nop(command&) {
  return command_status::ok;
}

}  // namespace freehca::model
