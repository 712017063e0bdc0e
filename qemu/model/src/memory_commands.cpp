// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands on memory regions and their translation tables.
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/mtt.hpp>

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "command_rules.hpp"
#include "icm.hpp"
#include "memory_regions.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::mpt;
using layouts::mpt_status;
using layouts::opcode;

memory_regions::memory_regions(adapter& a) : a_(a) {
  const auto on = [this](opcode o, command_status (memory_regions::*handler)(command&)) {
    a_.commands.on(o, [this, handler](command& c) { return (this->*handler)(c); });
  };
  on(opcode::sw2hw_mpt, &memory_regions::sw2hw);
  on(opcode::hw2sw_mpt, &memory_regions::hw2sw);
  on(opcode::query_mpt, &memory_regions::query);
  on(opcode::write_mtt, &memory_regions::write_mtt);
  on(opcode::read_mtt, &memory_regions::read_mtt);
  on(opcode::sync_tpt, &memory_regions::sync);
  a.counters.add("window_binds", binds_);
  a.counters.add("fast_registrations", fast_registrations_);
  a.counters.add("local_invalidations", local_invalidations_);
  a.counters.add("remote_invalidations", remote_invalidations_);
}

std::uint64_t memory_regions::entry_at(std::uint32_t index) const {
  return a_.profile.dmpt_base + std::uint64_t{index} * entry_bytes::dmpt;
}

command_status memory_regions::refuse_index(std::uint32_t index) const {
  if (index >= 1u << a_.profile.log_mpts) return command_status::bad_index;
  if (index < a_.limits().reserved_mpts()) return command_status::bad_resource;
  return command_status::ok;
}

namespace {

/// A region that begins free waits for its first fast registration (Linux mr.c mlx4_mr_enable).
bool is_region(const layouts::image<mpt>& e, bool free, unsigned log_least_page) {
  const std::uint64_t log_page = e.get<&mpt::entity_size>();
  if (e.get<&mpt::bqp>() || e.get<&mpt::qpn>() != 0) return false;
  if (free) return e.get<&mpt::fast_register_enable>() && !e.get<&mpt::physical>();
  return e.get<&mpt::physical>() || (log_page >= log_least_page && log_page <= log_most_page_bytes);
}

/// Not bound yet. Type 2 begins free, type 1 does not (Linux mr.c mlx4_mw_enable).
bool is_window(const layouts::image<mpt>& e, bool free) {
  return free == e.get<&mpt::bqp>() && e.get<&mpt::qpn>() == 0 &&
         !e.get<&mpt::fast_register_enable>() && !e.get<&mpt::physical>();
}

}  // namespace

command_status memory_regions::sw2hw(command& c) {
  if (const command_status s = refuse_index(c.input_modifier); s != command_status::ok) return s;
  layouts::image<mpt> e;
  if (!c.read_input(e)) return command_status::internal_error;
  const std::uint32_t mask = (1u << a_.profile.log_mpts) - 1;
  if (!e.reserved_clear() || (e.get<&mpt::mem_key>() & mask) != c.input_modifier ||
      e.get<&mpt::lkey>() != 0 || e.get<&mpt::win_cnt>() != 0)
    return command_status::bad_parameter;
  // Block mode and repeated MTTs are not among the reported capabilities.
  if (e.get<&mpt::block_mode>() || e.get<&mpt::mtt_rep>() != 0)
    return command_status::bad_parameter;
  const bool free = e.get<&mpt::status>() == mpt_status::free;
  if (free && e.get<&mpt::region>() && !offers(a_.how, capability::memory_management))
    return command_status::bad_parameter;
  if (e.get<&mpt::region>() ? !is_region(e, free, a_.limits().log_least_page_bytes)
                            : !a_.profile.memory_windows || !is_window(e, free))
    return command_status::bad_parameter;

  const auto old = a_.context_memory->load<mpt>(entry_at(c.input_modifier));
  if (!old) return command_status::icm_error;
  const mpt_status was = old->get<&mpt::status>();
  if (was == mpt_status::hardware || was == mpt_status::free)
    return command_status::bad_resource_state;
  e.set<&mpt::status>(free ? mpt_status::free : mpt_status::hardware);
  return a_.context_memory->store(entry_at(c.input_modifier), e) ? command_status::ok
                                                                 : command_status::internal_error;
}

command_status memory_regions::hw2sw(command& c) {
  if (const command_status s = refuse_index(c.input_modifier); s != command_status::ok) return s;
  auto e = a_.context_memory->load<mpt>(entry_at(c.input_modifier));
  if (!e) return command_status::icm_error;
  const mpt_status was = e->get<&mpt::status>();
  if (was != mpt_status::hardware && was != mpt_status::free)
    return command_status::bad_resource_state;
  if (e->get<&mpt::win_cnt>() != 0) return command_status::region_bound;
  if (!e->get<&mpt::region>() && !release(*e)) return command_status::icm_error;
  e->set<&mpt::status>(mpt_status::software);
  if (writes_context(c) && !c.write_output(*e)) return command_status::internal_error;
  return a_.context_memory->store(entry_at(c.input_modifier), *e) ? command_status::ok
                                                                  : command_status::internal_error;
}

command_status memory_regions::query(command& c) {
  if (const command_status s = refuse_index(c.input_modifier); s != command_status::ok) return s;
  const auto e = a_.context_memory->load<mpt>(entry_at(c.input_modifier));
  if (!e) return command_status::icm_error;
  return c.write_output(*e) ? command_status::ok : command_status::internal_error;
}

namespace {

/// Entries of one WRITE_MTT or READ_MTT: what a mailbox holds behind the header.
constexpr std::uint32_t mtts_per_command =
    (layouts::mailbox_bytes - layouts::write_mtt_header::bytes) / layouts::mtt::bytes;

}  // namespace

command_status memory_regions::write_mtt(command& c) {
  layouts::image<layouts::write_mtt_header> head;
  if (c.input_modifier == 0 || c.input_modifier > mtts_per_command)
    return command_status::bad_parameter;
  if (!c.read_input(head)) return command_status::internal_error;
  const std::uint64_t at = head.get<&layouts::write_mtt_header::mtt_base_addr>();
  if (at % layouts::mtt::bytes != 0 || at >= a_.limits().icm_bytes)
    return command_status::bad_parameter;
  std::byte block[mtts_per_command * layouts::mtt::bytes];
  const std::size_t bytes = c.input_modifier * layouts::mtt::bytes;
  if (!c.memory->read(c.input_parameter + head.size(), block, bytes))
    return command_status::internal_error;
  return a_.context_memory->write(a_.profile.mtt_base + at, block, bytes)
             ? command_status::ok
             : command_status::icm_error;
}

command_status memory_regions::read_mtt(command& c) {
  // The first entry's offset is the immediate input, their number the input modifier (MT25408 PRM by way of
  // illumos); no driver here uses it.
  if (c.input_modifier == 0 || c.input_modifier > mtts_per_command)
    return command_status::bad_parameter;
  if (c.input_parameter % layouts::mtt::bytes != 0 || c.input_parameter >= a_.limits().icm_bytes)
    return command_status::bad_parameter;
  std::byte block[mtts_per_command * layouts::mtt::bytes];
  const std::size_t bytes = c.input_modifier * layouts::mtt::bytes;
  if (!a_.context_memory->read(a_.profile.mtt_base + c.input_parameter, block, bytes))
    return command_status::icm_error;
  return c.memory->write(c.output_parameter, block, bytes) ? command_status::ok
                                                           : command_status::internal_error;
}

/// That a command runs has made the adapter forget what it kept.
command_status memory_regions::sync(command&) {
  return command_status::ok;
}

}  // namespace freehca::model
