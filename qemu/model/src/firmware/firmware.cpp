// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "firmware/firmware.hpp"

#include <algorithm>

#include <freehca/layouts/mod_stat_cfg.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "basis/identity.hpp"
#include "command/command_checks.hpp"
#include "ports/ports.hpp"
#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "tables/icm.hpp"
#include "tables/map_walk.hpp"
#include "tables/memory_regions.hpp"
#include "transport/transport.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::opcode;

firmware::firmware(adapter& a)
    : a_(a), port_settings_(a.how, a.profile, *a.links, a.rules, a.commands) {
  const auto bound = [this](auto function) {
    return [this, function](command& c) { return (this->*function)(c); };
  };
  const auto on = [this, bound](opcode o, auto handler, auto... continuation) {
    a_.commands.on(o, bound(handler), bound(continuation)...);
  };
  on(opcode::query_fw, &firmware::query_fw);
  on(opcode::query_dev_cap, &firmware::query_dev_cap);
  on(opcode::query_adapter, &firmware::query_adapter);
  on(opcode::map_fa, &firmware::map_fa, &firmware::continue_map_fa);
  on(opcode::unmap_fa, &firmware::unmap_fa);
  on(opcode::run_fw, &firmware::run_fw);
  on(opcode::mod_stat_cfg, &firmware::mod_stat_cfg);
  on(opcode::set_icm_size, &firmware::set_icm_size);
  on(opcode::map_icm_aux, &firmware::map_icm_aux, &firmware::continue_map_icm_aux);
  on(opcode::unmap_icm_aux, &firmware::unmap_icm_aux);
  on(opcode::map_icm, &firmware::map_icm, &firmware::continue_map_icm);
  on(opcode::unmap_icm, &firmware::unmap_icm, &firmware::continue_unmap_icm);
  on(opcode::init_hca, &firmware::init_hca, &firmware::continue_init_hca);
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
  ++era_;
}

/// One slice of MAP_FA or MAP_ICM_AUX: takes chunks, and adds their pages to `count`.
slice_result firmware::take_pages(command& c, std::uint64_t& count) {
  command_checks is(a_.rules);
  const bool ended = map_walk(c).step(
      is, a_.memory, a_.account, [](const map_walk::chunk&) { return true; },
      [&count](const map_walk::chunk& taken) {
        count += taken.pages;
        return true;
      });
  return ended ? slice_result(is.status()) : std::nullopt;
}

void firmware::check_order(command_checks& is, bool good, const char* state) {
  is.that(good, rule::command_order, command_status::bad_system_state, "system state: %s", state);
}

slice_result firmware::map_fa(command& c) {
  // Several commands may bring the area in pieces; none after RUN_FW.
  command_checks is(a_.rules);
  check_order(is, state_ <= system_state::firmware_mapped, "after RUN_FW");
  if (is.refused()) return is.status();
  return continue_map_fa(c);
}

slice_result firmware::continue_map_fa(command& c) {
  const slice_result s = take_pages(c, firmware_pages_);
  if (s == command_status::ok) state_ = std::max(state_, system_state::firmware_mapped);
  return s;
}

/// What is lent for context memory has been taken back, and the adapter does not run.
void firmware::check_nothing_lent(command_checks& is) const {
  check_order(is, !running(), "INIT_HCA without CLOSE_HCA");
  check_order(is, a_.context_memory->pages_mapped() == 0, "context memory is lent");
}

command_status firmware::unmap_fa(command&) {
  command_checks is(a_.rules);
  check_nothing_lent(is);
  check_order(is, auxiliary_pages_ == 0, "auxiliary memory is lent");
  if (is.refused()) return is.status();
  if (running()) stop();
  a_.context_memory->clear(a_.work);
  clear();
  return command_status::ok;
}

command_status firmware::run_fw(command&) {
  command_checks is(a_.rules);
  check_order(is, state_ == system_state::firmware_mapped, "after RUN_FW");
  is.that(firmware_pages_ >= firmware_pages_needed, rule::firmware_pages,
          command_status::exceeds_limits, "firmware pages lent: %llu; QUERY_FW asks for %u",
          static_cast<unsigned long long>(firmware_pages_), unsigned{firmware_pages_needed});
  if (!is.refused()) state_ = std::max(state_, system_state::firmware_running);
  return is.status();
}

command_status firmware::mod_stat_cfg(command& c) {
  using modifier = layouts::mod_stat_cfg_modifier;
  command_checks is(a_.rules);
  layouts::image<layouts::mod_stat_cfg_input_modifier> m;
  layouts::store_be(m.data(), c.input_modifier);
  const auto port = static_cast<unsigned>(m.get<&layouts::mod_stat_cfg_input_modifier::port>());
  const auto setup =
      static_cast<unsigned>(m.get<&layouts::mod_stat_cfg_input_modifier::setup_mode>());
  switch (static_cast<modifier>(c.opcode_modifier)) {
    case modifier::set: {
      layouts::image<layouts::mod_stat_cfg> in;
      is.read(c, in);
      // The smallest page is what it is: 512 bytes work whatever is asked for, and 4 KB is the
      // default.
      const auto log = static_cast<unsigned>(in.get<&layouts::mod_stat_cfg::log_pg_sz>());
      is.that(!in.get<&layouts::mod_stat_cfg::log_pg_sz_m>() || log == 0, rule::capability_reported,
              command_status::bad_parameter, "log_pg_sz %u; the smallest page stays", log);
      return is.status();
    }
    case modifier::query: {
      is.port(port >= 1 && port <= a_.how.ports, "input modifier: port", port, a_.how.ports);
      if (is.refused()) return is.status();
      const std::uint64_t guid = a_.how.node_guid + port;
      layouts::image<layouts::mod_stat_cfg> out;
      out.set<&layouts::mod_stat_cfg::guid_hi>(guid >> 32);
      out.set<&layouts::mod_stat_cfg::guid_lo>(guid & 0xffffffff);
      return is.answer(c, out).status();
    }
    case modifier::query_immediate:
    case modifier::set_immediate:
      break;
  }
  return wake_on_lan(c, setup, port);
}

/// MOD_STAT_CFG with an immediate parameter: of what it can be, drivers use wake on LAN alone.
command_status firmware::wake_on_lan(command& c, unsigned setup_mode, unsigned port) {
  const bool sets = static_cast<layouts::mod_stat_cfg_modifier>(c.opcode_modifier) ==
                    layouts::mod_stat_cfg_modifier::set_immediate;
  if (!offers(a_.how, capability::wake_on_lan) && !sets) {
    c.output_parameter = 0;  // nothing is set
    return command_status::ok;
  }
  command_checks is(a_.rules);
  is.must(offers(a_.how, capability::wake_on_lan), rule::known_operation,
          command_status::bad_operation, "opcode modifier %u: wake on LAN is not reported",
          c.opcode_modifier)
      .must(setup_mode == layouts::wake_on_lan_setup_mode, rule::known_operation,
            command_status::bad_operation, "setup_mode %u; wake on LAN is %u", setup_mode,
            layouts::wake_on_lan_setup_mode)
      .port(port >= 1 && port <= a_.how.ports, "input modifier: port", port, a_.how.ports);
  if (is.refused()) return is.status();
  return sets ? port_settings_.set_wake_on_lan(c, port) : port_settings_.query_wake_on_lan(c, port);
}

command_status firmware::set_icm_size(command& c) {
  command_checks is(a_.rules);
  check_nothing_lent(is);
  is.that(c.input_parameter != 0, rule::icm_size, command_status::bad_parameter, "immediate 0")
      .at_most(rule::icm_size, "immediate", c.input_parameter, a_.limits().icm_bytes,
               command_status::exceeds_limits);
  if (is.refused()) return is.status();
  icm_bytes_ = std::min(c.input_parameter, a_.limits().icm_bytes);
  // Eight bytes of translation for each page of ICM. No source: chosen.
  const std::uint64_t icm_pages =
      (icm_bytes_ + layouts::icm_page_size - 1) >> layouts::icm_page_shift;
  auxiliary_needed_ = (icm_pages * 8 + layouts::icm_page_size - 1) >> layouts::icm_page_shift;
  c.output_parameter = auxiliary_needed_;
  return command_status::ok;
}

slice_result firmware::map_icm_aux(command& c) {
  command_checks is(a_.rules);
  check_order(is, icm_bytes_ != 0, "before SET_ICM_SIZE");
  check_order(is, !running(), "INIT_HCA without CLOSE_HCA");
  if (is.refused()) return is.status();
  return continue_map_icm_aux(c);
}

slice_result firmware::continue_map_icm_aux(command& c) {
  return take_pages(c, auxiliary_pages_);
}

command_status firmware::unmap_icm_aux(command&) {
  command_checks is(a_.rules);
  check_nothing_lent(is);
  if (is.refused()) return is.status();
  if (running()) stop();
  auxiliary_pages_ = 0;
  ++era_;
  return command_status::ok;
}

slice_result firmware::map_icm(command& c) {
  command_checks is(a_.rules);
  check_order(is, icm_bytes_ != 0, "before SET_ICM_SIZE");
  is.that(auxiliary_pages_ >= auxiliary_needed_, rule::auxiliary_pages, command_status::icm_error,
          "auxiliary pages lent: %llu; SET_ICM_SIZE asked for %llu",
          static_cast<unsigned long long>(auxiliary_pages_),
          static_cast<unsigned long long>(auxiliary_needed_));
  if (is.refused()) return is.status();
  return continue_map_icm(c);
}

slice_result firmware::continue_map_icm(command& c) {
  command_checks is(a_.rules);
  icm& memory = *a_.context_memory;
  command_progress& p = c.progress;
  const auto may = [&](const map_walk::chunk& k) {
    p.replaces = memory.any_mapped(k.va, k.pages);
    return memory.may_map(is, k.va, k.pages);
  };
  const auto lent = [&](const map_walk::chunk& k) {
    if (!p.zeroed) {
      // The new mapping replaces the old one.
      if (p.replaces && !memory.unmap(is, k.va, k.pages)) return false;
      // Another command may have been quicker.
      const bool again = !p.replaces && memory.any_mapped(k.va, k.pages);
      if ((again && !memory.may_map(is, k.va, k.pages)) || !memory.map(is, k.va, k.pa, k.pages))
        return true;
      p.zeroed = k.va;
    }
    const bool ended = empty_groups(is, *p.zeroed, k.va + k.bytes());
    if (ended) p.zeroed.reset();
    return ended;
  };
  const bool ended = map_walk(c).step(is, a_.memory, a_.account, may, lent);
  return ended ? slice_result(is.status()) : std::nullopt;
}

/// Multicast entries read as empty from INIT_HCA on, those that are lent later too: those in [from,
/// end), as far as the slice goes. False when there is more.
bool firmware::empty_groups(command_checks& is, std::uint64_t& from, std::uint64_t end) {
  const hca_profile& p = a_.profile;
  const std::uint64_t groups =
      p.mc_base + (std::uint64_t{1} << (p.log_mc_table + p.log_mc_entry_bytes));
  if (!p.running || from >= groups || end <= p.mc_base) return true;
  from = std::max(from, p.mc_base);
  end = std::min(end, groups);
  const bool written = a_.context_memory->zero(from, end);
  is.that(written, rule::chunk_writable, command_status::internal_error,
          "the table of groups at 0x%llx cannot be written", static_cast<unsigned long long>(from));
  return !written || from >= end;
}

slice_result firmware::unmap_icm(command& c) {
  command_checks is(a_.rules);
  check_order(is, !initialising_, "INIT_HCA is at work");
  if (!a_.context_memory->may_unmap(is, c.input_parameter, c.input_modifier)) return is.status();
  return continue_unmap_icm(c);
}

slice_result firmware::continue_unmap_icm(command& c) {
  command_checks is(a_.rules);
  const bool ended = a_.context_memory->unmap(is, c.input_parameter, c.input_modifier);
  return ended ? slice_result(is.status()) : std::nullopt;
}

command_status firmware::nop(command&) {
  return command_status::ok;
}

}  // namespace freehca::model
