// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "firmware/command_engine.hpp"
#include "firmware/firmware.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>

#include <freehca/layouts/eqe.hpp>

#include "basis/recorder.hpp"
#include "command/command_checks.hpp"
#include "command/command_rules.hpp"
#include "queues/event_queues.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::hcr;

static constexpr std::uint32_t status_word = layouts::bar0::hcr_status - layouts::bar0::hcr;

command_engine::command_engine(adapter& a, const firmware& f)
    : a_(a), work_(a.work, "command register", *this), firmware_(f) {
  a.counters.add("commands", commands_);
  a.counters.add("commands_failed", failed_);
  a.counters.add("commands_in_flight", [this] { return in_flight_.size(); });
}

void command_engine::count_opcodes() {
  for (std::size_t o = 0; o < by_opcode_.size(); ++o)
    if (a_.commands.find(static_cast<std::uint16_t>(o)))
      a_.counters.add(std::string("command_") + layouts::name_of(static_cast<layouts::opcode>(o)),
                      by_opcode_[o]);
}

void command_engine::clear() {
  ++generation_;
  in_flight_.clear();
  register_ = {};
  toggle_.reset();
  waiting_ = stopped_ = false;
  last_due_ = 0;
  in_slices_ = 0;
}

void command_engine::loaded() {
  for (flight& f : in_flight_) f.what.memory = &a_.memory;
}

const char* command_engine::broken_invariant() const {
  if (in_flight_.size() > std::size_t{1} << a_.how.log_max_commands)
    return "more commands are in flight than the register takes";
  for (auto f = in_flight_.begin(); f != in_flight_.end(); ++f) {
    if (std::any_of(in_flight_.begin(), f, [&f](const flight& o) { return o.number == f->number; }))
      return "two commands in flight have one number";
    if (f->verdict.what == command_verdict::fate::keep_go) return "a command that was not accepted";
    if (static_cast<std::uint16_t>(f->what.opcode) > hcr{}.opcode.mask() ||
        f->what.opcode_modifier > hcr{}.opcode_modifier.mask())
      return "a command has what the register holds";
  }
  return in_slices_ <= in_flight_.size() ? nullptr
                                         : "more commands run in slices than are in flight";
}

void command_engine::stop() {
  ++generation_;
  in_flight_.clear();
  waiting_ = false;
  stopped_ = true;
  in_slices_ = 0;
}

std::uint32_t command_engine::read_word(std::uint32_t offset) const {
  return layouts::load_be<std::uint32_t>(register_.data() + offset);
}

void command_engine::write_word(std::uint32_t offset, std::uint32_t value) {
  if (register_.get<&hcr::go>()) {
    a_.rules.complain(rule::command_register_busy,
                      "write of 0x%x to word 0x%x of the command register while GO is set", value,
                      offset);
    return;
  }
  layouts::store_be(register_.data() + offset, value);
  if (offset != status_word) return;
  if (!register_.get<&hcr::go>()) {
    a_.rules.complain(rule::command_go, "command 0x%x written without GO", value);
    return;
  }
  const bool toggle = register_.get<&hcr::t>();
  if (toggle_ == toggle)
    a_.rules.complain(rule::command_toggle, "command 0x%x: T is %u, as in the command before",
                      static_cast<unsigned>(register_.get<&hcr::opcode>()), unsigned{toggle});
  toggle_ = toggle;
  register_.set<&hcr::status>(command_status::ok);
  reaches_memory_ = a_.surroundings.bus_master();
  const std::uint64_t acceptance = a_.times.acceptance();
  if (acceptance == 0) return start();
  work_.after(acceptance, item(accept));
}

void command_engine::run_item(work_item& what) {
  if (what.generation != generation_) return;
  if (what.kind == accept) return start();
  const auto which = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&what](const flight& f) { return f.number == what.number; });
  if (which == in_flight_.end()) return;
  switch (what.kind) {
    case end_of_latency:
      return finish(which);
    case end_of_wait:
      finish_now(which);
      if (what.generation == generation_) pass_on();
      return;
    default:
      return continue_command(which);
  }
}

/// Accepts the command that stands in the register, if there is room for it.
void command_engine::start() {
  if (stopped_) return;  // GO stays
  waiting_ = in_flight_.size() >= std::size_t{1} << a_.how.log_max_commands;
  if (waiting_) return;

  flight f;
  command& c = f.what;
  c.opcode = register_.get<&hcr::opcode>();
  c.opcode_modifier = static_cast<std::uint8_t>(register_.get<&hcr::opcode_modifier>());
  c.input_modifier = static_cast<std::uint32_t>(register_.get<&hcr::in_modifier>());
  c.input_parameter = register_.get<&hcr::in_param>();
  c.output_parameter = register_.get<&hcr::out_param>();
  c.token = static_cast<std::uint16_t>(register_.get<&hcr::token>());
  c.event = register_.get<&hcr::e>();
  c.memory = &a_.memory;
  if (a_.recording != nullptr) a_.recording->accepted(c);
  f.on = object_of(c);
  f.reaches_memory = reaches_memory_;
  f.busy = f.on && std::any_of(in_flight_.begin(), in_flight_.end(),
                               [&f](const flight& o) { return o.on == f.on; });
  if (judge_) f.verdict = judge_(c.opcode, c.input_modifier);
  if (f.verdict.what == command_verdict::fate::keep_go) return;
  if (c.event) register_.set<&hcr::go>(false);

  f.takes = a_.times.command();
  f.number = next_number_++;
  in_flight_.push_back(f);
  std::uint64_t begins = a_.work.now();
  if (!a_.how.faults.commands_side_by_side) begins = std::max(begins, last_due_);
  const std::uint64_t due = scheduler::later(begins, f.takes);
  last_due_ = due;
  work_.at(due, item(end_of_latency, f.number));
}

void command_engine::finish(std::list<flight>::iterator which) {
  // What one is run in slices for is no part of its latency: those behind it cannot know its end
  // beforehand.
  which->next = in_slices_ != 0 && !a_.how.faults.commands_side_by_side;
  if (!which->next) finish_now(which);
}

void command_engine::pass_on() {
  const auto next =
      std::find_if(in_flight_.begin(), in_flight_.end(), [](const flight& f) { return f.next; });
  if (in_slices_ > 1 || next == in_flight_.end()) {
    --in_slices_;
    return;
  }
  next->next = false;
  work_.after(next->takes, item(end_of_wait, next->number));
}

void command_engine::finish_now(std::list<flight>::iterator which) {
  using fate = command_verdict::fate;
  which->held = which->verdict.what == fate::hold || which->verdict.what == fate::hold_and_refuse;
  if (!which->held) end(which);
}

void command_engine::release_held() {
  // What one of them does to the host's memory can have the others released, or the adapter reset.
  const auto next = [this] {
    return std::find_if(in_flight_.begin(), in_flight_.end(),
                        [](const flight& f) { return f.held; });
  };
  for (auto f = next(); f != in_flight_.end(); f = next()) end(f);
}

bool command_engine::answer_held(std::size_t which, const command_verdict& how) {
  for (auto f = in_flight_.begin(); f != in_flight_.end(); ++f) {
    if (!f->held || which-- != 0) continue;
    f->verdict = how;
    end(f);
    return true;
  }
  return false;
}

std::size_t command_engine::held() const {
  return static_cast<std::size_t>(
      std::count_if(in_flight_.begin(), in_flight_.end(), [](const flight& f) { return f.held; }));
}

void command_engine::end(std::list<flight>::iterator which) {
  using fate = command_verdict::fate;
  which->held = false;
  const command_verdict verdict = which->verdict;
  command c = which->what;
  const bool busy = which->busy;
  ++commands_;
  ++by_opcode_[static_cast<std::uint16_t>(c.opcode) & 0xfff];
  const std::uint64_t generation = generation_;
  const bool refused = verdict.what == fate::refuse || verdict.what == fate::hold_and_refuse;
  a_.rules.take_reason();
  if (refused) a_.rules.because("a fault on request");
  begin_judging(*which);
  const slice_result s = refused ? verdict.status : run(c, busy);
  end_judging();
  if (generation != generation_) return;  // the command reset the adapter
  which->what = c;
  which->era = firmware_.era();
  if (s) return ended(which, *s);
  ++in_slices_;
  go_on(which);
}

void command_engine::go_on(std::list<flight>::iterator which) {
  work_.soon(0, item(next_slice, which->number));
}

void command_engine::continue_command(std::list<flight>::iterator which) {
  const std::uint64_t generation = generation_;
  // The continuation works on a copy, because it can reset the adapter and with it end the flight.
  command c = which->what;
  a_.rules.take_reason();
  begin_judging(*which);
  a_.regions->forget_entries();
  const command_table::handler* rest = a_.commands.continuation_of(c.opcode);
  const bool goes_on = rest != nullptr && which->era == firmware_.era();
  const slice_result s = goes_on ? (*rest)(c) : swept_away();
  end_judging();
  if (generation != generation_) return;
  which->what = c;
  if (s) {
    ended(which, *s);
    if (generation == generation_) pass_on();
    return;
  }
  go_on(which);
}

void command_engine::begin_judging(const flight& f) {
  a_.rules.about(layouts::name_of(f.what.opcode));
  a_.rules.excuse_unreachable_memory(f.reaches_memory);
}

void command_engine::end_judging() {
  a_.rules.about(nullptr);
  a_.rules.excuse_unreachable_memory(true);
}

/// What a command worked on is gone, or may be.
command_status command_engine::swept_away() {
  command_checks is(a_.rules);
  is.must(false, rule::command_order, command_status::bad_system_state,
          "CLOSE_HCA, UNMAP_FA, UNMAP_ICM_AUX or INIT_HCA came while the command was at work");
  return is.status();
}

void command_engine::ended(std::list<flight>::iterator which, command_status s) {
  using fate = command_verdict::fate;
  const fate verdict = which->verdict.what;
  const command c = which->what;
  a_.rules.excuse_unreachable_memory(which->reaches_memory);
  in_flight_.erase(which);
  if (s != command_status::ok) ++failed_;
  explain(c, s);
  if (verdict != fate::lose_answer) report(c, s);
  if (verdict == fate::answer_twice && c.event) report(c, s);
  a_.rules.excuse_unreachable_memory(true);
  if (waiting_) start();
}

slice_result command_engine::run(command& c, bool busy) {
  rule_book& rules = a_.rules;
  if (busy && rules.refuses(rule::object_busy, "another command on this object is under way"))
    return command_status::resource_busy;
  const command_table::handler& handler = a_.commands.find(static_cast<std::uint16_t>(c.opcode));
  if (!handler) {
    static_cast<void>(
        rules.refuses(rule::known_command, "opcode 0x%x", static_cast<unsigned>(c.opcode)));
    return command_status::bad_operation;
  }
  if (const std::uint16_t has = modifiers_of(c.opcode); (has >> c.opcode_modifier & 1) == 0) {
    // Where the modifier chooses what is to be done, there is nothing to do.
    const rule which = chooses_operation(c.opcode) ? rule::known_operation : rule::opcode_modifier;
    if (rules.refuses(which, "opcode modifier %u", c.opcode_modifier) ||
        which == rule::known_operation)
      return command_status::bad_operation;
    // Taken as the first that there is.
    c.opcode_modifier = static_cast<std::uint8_t>(std::countr_zero(has));
  }
  const system_state least = least_state_of(c.opcode);
  if (firmware_.state() < least) {
    static_cast<void>(rules.refuses(rule::system_state,
                                    "it comes after %s, and the system is as after %s",
                                    name_of(least), name_of(firmware_.state())));
    return command_status::bad_system_state;
  }
  const layouts::mailboxes m = mailboxes_of(c);
  const auto off = [](std::uint64_t address) { return address % layouts::mailbox_bytes != 0; };
  if (m.input && off(c.input_parameter) &&
      rules.refuses(rule::mailbox_alignment, "input mailbox at 0x%llx",
                    static_cast<unsigned long long>(c.input_parameter)))
    return command_status::bad_parameter;
  if (m.output && off(c.output_parameter) &&
      rules.refuses(rule::mailbox_alignment, "output mailbox at 0x%llx",
                    static_cast<unsigned long long>(c.output_parameter)))
    return command_status::bad_parameter;
  a_.regions->forget_entries();
  const host_memory::about what(a_.memory,
                                {dma_kind::mailbox, static_cast<std::uint16_t>(c.opcode)});
  return handler(c);
}

/// Tells how a command ended, and why when it was refused.
void command_engine::explain(const command& c, command_status s) {
  const bool ok = s == command_status::ok;
  const rule_book::reason why = a_.rules.take_reason();
  if (!a_.rules.listened_to(ok ? remark_kind::command : remark_kind::refused)) return;
  char subject[160];
  std::snprintf(subject, sizeof subject, "%s modifier 0x%x, opcode modifier %u, token 0x%x: %s",
                layouts::name_of(c.opcode), c.input_modifier, c.opcode_modifier, c.token,
                layouts::name_of(s));
  if (ok) a_.rules.tell(remark_kind::command, "%s", subject);
  else if (why.empty()) a_.rules.tell(remark_kind::refused, "%s", subject);
  else a_.rules.explain(remark_kind::refused, subject, why);
}

void command_engine::report(const command& c, command_status s) {
  if (a_.recording != nullptr) a_.recording->answered(c, s);
  if (!c.event) {
    register_.set<&hcr::out_param>(c.output_parameter);
    register_.set<&hcr::status>(s).set<&hcr::go>(false);
    return;
  }
  layouts::image<layouts::eqe_command> e;
  e.set<&layouts::eqe_command::token>(c.token);
  e.set<&layouts::eqe_command::status>(s);
  e.set<&layouts::eqe_command::out_param>(c.output_parameter);
  if (!a_.eqs->post_asynchronous(layouts::event_type::command_completion, e))
    a_.rules.complain(rule::completion_by_event,
                      "command 0x%x (token 0x%x) ends by an event, and no event queue takes it",
                      static_cast<unsigned>(c.opcode), c.token);
}

}  // namespace freehca::model
