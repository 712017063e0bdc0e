// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "basis/recorder.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <freehca/model/capability.hpp>
#include <freehca/model/recording_format.hpp>
#include <freehca/model/rules.hpp>

namespace freehca::model {

namespace {

/// What a call has to tell goes out in one piece, unless it is more than this.
constexpr std::size_t pending_max = 1u << 20;

/// From so many bytes on, a write that repeats its first word is told by that word.
constexpr std::size_t fill_min = 64;

bool repeats_first_word(const std::byte* from, std::size_t bytes) {
  return bytes >= fill_min && bytes % 4 == 0 && std::memcmp(from, from + 4, bytes - 4) == 0;
}

std::string link_of(const options& how, unsigned i) {
  std::string quoted;
  json_line::quote(quoted, link_name(how.link[i] == link_layer::ethernet, how.vpi[i]));
  return quoted;
}

std::string list_of(const capability_set& set) {
  std::string list = "[";
  for (const capability_name& c : capability_names) {
    if (!set.has(c.what)) continue;
    if (list.size() > 1) list += ',';
    json_line::quote(list, c.name);
  }
  return list + "]";
}

std::string pair_of(bool first, bool second) {
  const auto text = [](bool b) { return std::string(b ? "true" : "false"); };
  return "[" + text(first) + "," + text(second) + "]";
}

std::string pair_of(const std::uint16_t (&lids)[2]) {
  return "[" + std::to_string(lids[0]) + "," + std::to_string(lids[1]) + "]";
}

}  // namespace

std::string names_of(const rule_set& rules) {
  std::string names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rule::count); ++i) {
    if (!rules.has(static_cast<rule>(i))) continue;
    if (!names.empty()) names += ',';
    names += entry_of(static_cast<rule>(i)).name;
  }
  return names;
}

void write_faults(json_line& to, const fault_options& faults) {
  to.number("command_acceptance_ns", faults.command_acceptance_ns)
      .number("command_latency_ns", faults.command_latency_ns)
      .boolean("commands_side_by_side", faults.commands_side_by_side)
      .number("work_latency_ns", faults.work_latency_ns)
      .number("reset_latency_ns", faults.reset_latency_ns)
      .number("time_seed", faults.time_seed);
}

recorder::recorder(environment& surroundings, const options& how) : outer_(surroundings) {
  json_line header;
  header.number("freehca_recording", recording_version)
      .text("of", "model")
      .text("variant", variant_names[static_cast<std::size_t>(how.kind)])
      .number("ports", how.ports)
      .value("links", "[" + link_of(how, 0) + "," + link_of(how, 1) + "]")
      .value("cables", pair_of(how.cable[0], how.cable[1]))
      .boolean("subnet_manager", how.subnet_manager)
      .value("lids", pair_of(how.lid))
      .value("sm_lids", pair_of(how.sm_lid))
      .hex("node_guid", how.node_guid)
      .hex("mac", how.mac)
      .number("log_max_commands", how.log_max_commands)
      .number("command_interface", how.command_interface)
      .number("uar_bar_bytes", how.uar_bar_bytes)
      .value("without", list_of(how.without))
      .boolean("strict", how.strict)
      .boolean("prefetch", how.prefetch)
      .text("rules_off", names_of(how.rules_off))
      .number("host_memory_limit", how.host_memory_limit)
      .number("turn_units", how.turn_units);
  if (how.doorbells_under_way != options().doorbells_under_way)
    header.number("doorbells_under_way", how.doorbells_under_way);
  if (!how.with.empty()) header.value("with", list_of(how.with));
  write_faults(header, how.faults);
  header.text("label", how.record_label);
  pending_ = header.finish() + "\n";
  hand_over();
}

json_line recorder::call(const char* name) {
  json_line line;
  line.text("call", name);
  // The adapter's host may enter it again from inside, in a test; such a recording is to be read,
  // not to be replayed.
  if (depth_ != 0) line.boolean("inside", true);
  return line;
}

void recorder::begin(json_line& line) {
  if (depth_++ == 0) call_time_ = outer_.now();
  add(line.number("t", call_time_));
}

void recorder::end_call() {
  if (--depth_ == 0) hand_over();
}

void recorder::result(std::uint64_t value) {
  json_line line;
  add(line.hex("result", value));
}

void recorder::accepted(const command& c) {
  json_line line;
  add(line.text("command", layouts::name_of(c.opcode))
          .hex("opcode", static_cast<std::uint64_t>(c.opcode))
          .number("opcode_modifier", c.opcode_modifier)
          .hex("input_modifier", c.input_modifier)
          .hex("input", c.input_parameter)
          .hex("output", c.output_parameter)
          .hex("token", c.token)
          .boolean("event", c.event));
}

void recorder::answered(const command& c, layouts::command_status s) {
  json_line line;
  add(line.text("answer", layouts::name_of(c.opcode))
          .hex("opcode", static_cast<std::uint64_t>(c.opcode))
          .hex("token", c.token)
          .hex("status", static_cast<std::uint64_t>(s))
          .hex("output", c.output_parameter));
}

void recorder::end() {
  if (off_) return;
  const std::uint64_t records = records_;
  json_line line;
  add(line.number("end", records));
  hand_over();
  off_ = true;
}

void recorder::add_subject(json_line& line, bool write) const {
  if (memory_ == nullptr) return;
  const dma_subject& s = memory_->subject();
  if (s.kind == dma_kind::unknown) return;
  if (s.kind == dma_kind::mailbox) line.text("what", write ? "output_mailbox" : "input_mailbox");
  else line.text("what", model::name_of(s.kind));
  line.hex("of", s.of);
  if (has_index(s.kind)) line.number("index", s.index);
}

bool recorder::dma_read(std::uint64_t address, void* to, std::size_t bytes) {
  const bool ok = outer_.dma_read(address, to, bytes);
  if (off_) return ok;
  json_line line;
  line.hex("read", address).number("bytes", bytes);
  add_subject(line, false);
  if (ok) line.bytes("hex", to, bytes);
  else line.boolean("refused", true);
  add(line);
  return ok;
}

bool recorder::dma_write(std::uint64_t address, const void* from, std::size_t bytes) {
  const bool ok = outer_.dma_write(address, from, bytes);
  if (off_) return ok;
  json_line line;
  line.hex("write", address).number("bytes", bytes);
  add_subject(line, true);
  const auto* p = static_cast<const std::byte*>(from);
  if (repeats_first_word(p, bytes)) line.bytes("fill", p, 4);
  else line.bytes("hex", p, bytes);
  if (!ok) line.boolean("refused", true);
  add(line);
  return ok;
}

bool recorder::bus_master() {
  const bool on = outer_.bus_master();
  const known now = on ? known::yes : known::no;
  if (now != bus_master_) {
    json_line line;
    add(line.boolean("bus_master", on));
  }
  bus_master_ = now;
  return on;
}

bool recorder::msix_enabled() {
  const bool on = outer_.msix_enabled();
  const known now = on ? known::yes : known::no;
  if (now != msix_enabled_) {
    json_line line;
    add(line.boolean("msix_enabled", on));
  }
  msix_enabled_ = now;
  return on;
}

void recorder::msix(unsigned vector) {
  json_line line;
  add(line.number("msix", vector));
  outer_.msix(vector);
}

void recorder::intx(bool asserted) {
  json_line line;
  add(line.boolean("intx", asserted));
  outer_.intx(asserted);
}

std::uint64_t recorder::now() {
  return depth_ != 0 && !off_ ? call_time_ : outer_.now();
}

void recorder::wipe_configuration_space() {
  json_line line;
  add(line.boolean("wipe", true));
  // A wiped function has both off: what the host puts back is told again, also where it is what was
  // there before.
  bus_master_ = msix_enabled_ = known::nothing;
  outer_.wipe_configuration_space();
}

bool recorder::link_send(unsigned port, const std::byte* from, std::size_t bytes) {
  const bool ok = outer_.link_send(port, from, bytes);
  json_line line;
  line.number("send", port).number("bytes", bytes).bytes("hex", from, bytes);
  if (!ok) line.boolean("refused", true);
  add(line);
  return ok;
}

void recorder::tell(const remark& what) {
  if (what.kind == remark_kind::complaint) {
    json_line line;
    add(line.text("complaint", what.text).text("rule", what.rule));
  }
  outer_.tell(what);
}

void recorder::add(json_line& line) {
  if (off_) return;
  pending_ += line.finish();
  pending_ += '\n';
  ++records_;
  if (pending_.size() > pending_max || depth_ == 0) hand_over();
}

void recorder::hand_over() {
  if (!off_ && !pending_.empty() && !outer_.record(pending_.data(), pending_.size())) off_ = true;
  pending_.clear();
}

}  // namespace freehca::model
