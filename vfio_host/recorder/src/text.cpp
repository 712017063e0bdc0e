// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "text.hpp"

#include <cstring>

#include <freehca/model/json_line.hpp>
#include <freehca/model/recording_format.hpp>

namespace freehca::recorder {

namespace {

using model::json_line;

/// The same value as for the model's recordings (qemu/model/src/basis/recorder.cpp).
constexpr std::size_t fill_min = 64;

bool repeats_first_word(const bytes& data) {
  return data.size() >= fill_min && data.size() % 4 == 0 &&
         std::memcmp(data.data(), data.data() + 4, data.size() - 4) == 0;
}

void add_data(json_line& line, const entry& e) {
  line.number("bytes", e.data.size());
  if (!e.name.empty()) line.text("what", e.name).hex("of", e.of).number("index", e.index);
  if (repeats_first_word(e.data)) line.bytes("fill", e.data.data(), 4);
  else line.bytes("hex", e.data.data(), e.data.size());
}

void add_command(json_line& line, const entry& e) {
  line.hex("opcode", static_cast<std::uint64_t>(e.opcode)).hex("token", e.token);
}

/// A record is one line; a call that reads is two.
std::string lines_of(const entry& e) {
  json_line line;
  switch (e.kind) {
    case entry_kind::step:
      line.text("step", e.name);
      break;
    case entry_kind::call:
      line.text("call", e.name).hex("at", e.at).number("bytes", e.width);
      if (!e.has_result) line.hex("value", e.value);
      break;
    case entry_kind::store:
    case entry_kind::write:
      line.hex(e.kind == entry_kind::store ? "store" : "write", e.at);
      add_data(line, e);
      break;
    case entry_kind::command:
      add_command(line.text("command", layouts::name_of(e.opcode)), e);
      line.number("opcode_modifier", e.opcode_modifier)
          .hex("input_modifier", e.input_modifier)
          .hex("input", e.input)
          .hex("output", e.output)
          .boolean("event", e.event);
      break;
    case entry_kind::answer:
      add_command(line.text("answer", layouts::name_of(e.opcode)), e);
      line.hex("status", e.status).hex("output", e.output);
      break;
    case entry_kind::bus_master:
      line.boolean("bus_master", e.value != 0);
      break;
    case entry_kind::msix:
      line.number("msix", e.value);
      break;
    case entry_kind::intx:
      line.boolean("intx", true);
      break;
  }
  std::string text = line.number("t", e.time).finish() + "\n";
  if (e.has_result) {
    json_line result;
    text += result.hex("result", e.value).finish() + "\n";
  }
  return text;
}

std::string pair_of(const unsigned (&two)[2]) {
  return "[" + std::to_string(two[0]) + "," + std::to_string(two[1]) + "]";
}

std::string header_of(const adapter_facts& facts, std::uint64_t node_guid, std::uint64_t mac,
                      const std::string& label, bool identity_kept) {
  // If one port is managed, a port that is not managed gets an unconnected cable in the model. If
  // no port is managed, the model has no subnet manager.
  bool managed = false, bare[2] = {};
  for (unsigned i = 0; i < facts.ports; ++i) managed = managed || facts.active[i];
  for (unsigned i = 0; i < facts.ports; ++i)
    bare[i] = managed && !facts.active[i] && !facts.ethernet[i];
  const auto cable = [&bare](unsigned i) { return bare[i] ? "true" : "false"; };
  const auto link = [&facts](unsigned i) {
    std::string quoted;
    json_line::quote(quoted, model::link_name(facts.ethernet[i], facts.vpi[i]));
    return quoted;
  };
  json_line header;
  header.number("freehca_recording", model::recording_version)
      .text("of", "card")
      .text("by", "driver")
      .number("by_version", model::driver_recording_version)
      .text("variant", facts.variant)
      .number("ports", facts.ports)
      .value("links", "[" + link(0) + "," + link(1) + "]")
      .value("cables", std::string("[") + cable(0) + "," + cable(1) + "]")
      .boolean("subnet_manager", managed)
      .value("lids", pair_of(facts.lid))
      .value("sm_lids", pair_of(facts.sm_lid))
      .hex("node_guid", node_guid)
      .hex("mac", mac)
      .boolean("identity_kept", identity_kept)
      .number("log_max_commands", facts.log_max_commands)
      .number("uar_bar_bytes", facts.uar_bar_bytes)
      .value("without", "[]")
      .number("command_acceptance_ns", 0)
      .number("command_latency_ns", 0)
      .boolean("commands_side_by_side", true)
      .text("label", label);
  return header.finish() + "\n";
}

}  // namespace

std::string to_text(const std::vector<entry>& records, const adapter_facts& facts,
                    std::uint64_t node_guid, std::uint64_t mac, const std::string& label,
                    bool identity_kept) {
  std::string text = header_of(facts, node_guid, mac, label, identity_kept);
  std::uint64_t count = 0;
  for (const entry& e : records) {
    text += lines_of(e);
    count += e.has_result ? 2 : 1;
  }
  json_line end;
  return text + end.number("end", count).finish() + "\n";
}

}  // namespace freehca::recorder
