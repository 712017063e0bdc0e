// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tables/memory_commands.hpp"

#include <algorithm>

#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/mtt.hpp>

#include "command/command_checks.hpp"
#include "command/command_rules.hpp"
#include "tables/icm.hpp"
#include "tables/key_users.hpp"
#include "tables/memory_regions.hpp"
#include "tables/queue_context.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::mpt;
using layouts::mpt_status;
using layouts::opcode;

void memory_commands::add_handlers(command_table& commands) {
  const auto on = [&](opcode o, command_status (memory_commands::*handler)(command&)) {
    commands.on(o, [this, handler](command& c) { return (this->*handler)(c); });
  };
  on(opcode::sw2hw_mpt, &memory_commands::sw2hw);
  on(opcode::hw2sw_mpt, &memory_commands::hw2sw);
  on(opcode::query_mpt, &memory_commands::query);
  on(opcode::write_mtt, &memory_commands::write_mtt);
  on(opcode::read_mtt, &memory_commands::read_mtt);
  on(opcode::sync_tpt, &memory_commands::sync);
}

/// The entry that the command names; `is` refuses it where it is none.
std::uint64_t memory_commands::named_entry(command_checks& is, std::uint32_t index) const {
  is.in_table("MPT index", index, config_.profile().log_mpts)
      .not_reserved("MPT index", index, config_.limits().reserved_mpts());
  return regions_.entry_at(index);
}

namespace {

/// A region that begins free waits for its first fast registration (Linux mr.c mlx4_mr_enable).
void check_region(command_checks& is, const layouts::image<mpt>& e, bool free, bool fast,
                  unsigned least_log_page) {
  const auto log_page = static_cast<unsigned>(e.get<&mpt::entity_size>());
  const auto form = [&is](bool good, const char* field) {
    is.that(good, rule::region_form, command_status::bad_parameter, "%s of a region", field);
  };
  is.that(!free || fast, rule::capability_reported, command_status::bad_parameter,
          "status free of a region, and there is no fast registration");
  form(!e.get<&mpt::bqp>(), "bqp set");
  form(e.get<&mpt::qpn>() == 0, "qpn set");
  form(!free || e.get<&mpt::fast_register_enable>(), "status free without fast_register_enable");
  form(!free || !e.get<&mpt::physical>(), "status free with physical");
  is.that(free || e.get<&mpt::physical>() ||
              (log_page >= least_log_page && log_page <= log_most_page_bytes),
          rule::region_page_size, command_status::bad_parameter, "entity_size %u; %u to %u",
          log_page, least_log_page, log_most_page_bytes);
}

/// Not bound yet. Type 2 begins free, type 1 does not (Linux mr.c mlx4_mw_enable).
void check_window(command_checks& is, const layouts::image<mpt>& e, bool free, bool enabled) {
  const auto form = [&is](bool good, const char* field) {
    is.that(good, rule::window_form, command_status::bad_parameter, "%s of a window", field);
  };
  is.that(enabled, rule::capability_reported, command_status::bad_parameter,
          "region not set: a window, and INIT_HCA did not enable windows");
  form(free == e.get<&mpt::bqp>(), free ? "status free without bqp" : "bqp without status free");
  form(e.get<&mpt::qpn>() == 0, "qpn set");
  form(!e.get<&mpt::fast_register_enable>(), "fast_register_enable set");
  form(!e.get<&mpt::physical>(), "physical set");
}

bool is_hardwares(const layouts::image<mpt>& e) {
  const mpt_status s = e.get<&mpt::status>();
  return s == mpt_status::hardware || s == mpt_status::free;
}

}  // namespace

command_status memory_commands::sw2hw(command& c) {
  const std::uint32_t index = c.input_modifier;
  layouts::image<mpt> e;
  command_checks is(rules_);
  const std::uint64_t at = named_entry(is, index);
  is.read(c, e);
  const auto key = static_cast<std::uint32_t>(e.get<&mpt::mem_key>());
  const std::uint32_t mask = (1u << config_.profile().log_mpts) - 1;
  const bool free = e.get<&mpt::status>() == mpt_status::free;
  is.no_reserved_bits(e, "entry")
      .that((key & mask) == index, rule::region_key, command_status::bad_parameter,
            "mem_key 0x%x names entry 0x%x; the command names 0x%x", key, key & mask, index)
      .that(e.get<&mpt::lkey>() == 0, rule::region_unbound, command_status::bad_parameter,
            "lkey is 0x%llx", static_cast<unsigned long long>(e.get<&mpt::lkey>()))
      .that(e.get<&mpt::win_cnt>() == 0, rule::region_unbound, command_status::bad_parameter,
            "win_cnt is %u", static_cast<unsigned>(e.get<&mpt::win_cnt>()))
      .that(!e.get<&mpt::block_mode>(), rule::capability_reported, command_status::bad_parameter,
            "block_mode, which is not reported")
      .that(e.get<&mpt::mtt_rep>() == 0, rule::capability_reported, command_status::bad_parameter,
            "mtt_rep, which is not reported");
  if (e.get<&mpt::region>())
    check_region(is, e, free, config_.offers(capability::memory_management),
                 config_.limits().log_least_page_bytes);
  else check_window(is, e, free, config_.profile().memory_windows);
  if (is.refused()) return is.status();

  const auto old = contexts_.load<mpt>(at);
  is.lent(old.has_value(), "entry of MPT", index)
      .software_owns(!old || !is_hardwares(*old), "MPT", index);
  if (is.refused() || !old) return is.status();
  e.set<&mpt::status>(free ? mpt_status::free : mpt_status::hardware);
  is.lent(contexts_.store(at, e), "entry of MPT", index);
  return is.status();
}

command_status memory_commands::hw2sw(command& c) {
  const std::uint32_t index = c.input_modifier;
  command_checks is(rules_);
  const std::uint64_t at = named_entry(is, index);
  if (is.refused()) return is.status();
  auto e = contexts_.load<mpt>(at);
  is.lent(e.has_value(), "entry of MPT", index);
  if (is.refused() || !e) return is.status();
  is.hardware_owns(is_hardwares(*e), "MPT", index)
      .that(e->get<&mpt::win_cnt>() == 0, rule::region_has_no_windows, command_status::region_bound,
            "win_cnt of MPT 0x%x is %u", index, static_cast<unsigned>(e->get<&mpt::win_cnt>()));
  if (is.refused()) return is.status();
  // The verb succeeds, and the requests fail (IBTA 11.2.8): nothing is refused, whoever is strict.
  const std::uint32_t key =
      layouts::key_of_mpt(static_cast<std::uint32_t>(e->get<&mpt::mem_key>()));
  if (const auto user = users_.send_under(key))
    rules_.complain(rule::region_in_use,
                    "MPT 0x%x: send %u of QP 0x%06x names its key, 0x%x, and has not completed",
                    index, unsigned{user->index}, user->qpn, key);
  if (!e->get<&mpt::region>()) is.lent(regions_.release(*e), "region of window MPT", index);
  e->set<&mpt::status>(mpt_status::software);
  if (writes_context(c)) is.answer(c, *e);
  if (is.refused()) return is.status();
  is.lent(contexts_.store(at, *e), "entry of MPT", index);
  return is.status();
}

command_status memory_commands::query(command& c) {
  command_checks is(rules_);
  const std::uint64_t at = named_entry(is, c.input_modifier);
  if (is.refused()) return is.status();
  answer_context(is, c, contexts_.load<mpt>(at), "entry of MPT");
  return is.status();
}

namespace {

/// Entries of one WRITE_MTT or READ_MTT: what a mailbox holds behind the header.
constexpr std::uint32_t mtts_per_command =
    (layouts::mailbox_bytes - layouts::write_mtt_header::bytes) / layouts::mtt::bytes;

/// How many entries, and where; no entry where none can stand.
std::uint32_t checked_mtts(command_checks& is, std::uint32_t count, const char* field,
                           std::uint64_t& at, std::uint64_t icm_bytes) {
  using ull = unsigned long long;
  is.that(count >= 1 && count <= mtts_per_command, rule::mtt_count, command_status::bad_parameter,
          "input modifier: %u entries; 1 to %u", count, mtts_per_command)
      .that(at % layouts::mtt::bytes == 0 && at < icm_bytes, rule::mtt_place,
            command_status::bad_parameter, "%s 0x%llx; below 0x%llx", field, ull{at},
            ull{icm_bytes});
  at -= at % layouts::mtt::bytes;
  return at < icm_bytes ? std::min(count, mtts_per_command) : 0;
}

}  // namespace

command_status memory_commands::write_mtt(command& c) {
  layouts::image<layouts::write_mtt_header> head;
  command_checks is(rules_);
  is.read(c, head);
  std::uint64_t at = head.get<&layouts::write_mtt_header::mtt_base_addr>();
  const std::uint32_t count =
      checked_mtts(is, c.input_modifier, "mtt_base_addr", at, config_.limits().icm_bytes);
  if (is.refused() || count == 0) return is.status();
  std::byte block[mtts_per_command * layouts::mtt::bytes];
  const std::size_t bytes = count * layouts::mtt::bytes;
  is.was_read(c.memory->read(c.input_parameter + head.size(), block, bytes), c);
  if (is.refused()) return is.status();
  is.lent(contexts_.write(config_.profile().mtt_base + at, block, bytes), "mtt_base_addr", at);
  return is.status();
}

command_status memory_commands::read_mtt(command& c) {
  // The first entry's offset is the immediate input, their number the input modifier (MT25408 PRM
  // by way of illumos); no driver here uses it.
  command_checks is(rules_);
  std::uint64_t at = c.input_parameter;
  const std::uint32_t count =
      checked_mtts(is, c.input_modifier, "immediate", at, config_.limits().icm_bytes);
  if (is.refused()) return is.status();
  std::byte block[mtts_per_command * layouts::mtt::bytes] = {};
  const std::size_t bytes = count * layouts::mtt::bytes;
  is.lent(contexts_.read(config_.profile().mtt_base + at, block, bytes), "immediate", at);
  if (is.refused()) return is.status();
  is.was_written(c.memory->write(c.output_parameter, block, bytes), c);
  return is.status();
}

/// That a command runs has made the adapter forget what it kept.
command_status memory_commands::sync(command&) {
  return command_status::ok;
}

}  // namespace freehca::model
