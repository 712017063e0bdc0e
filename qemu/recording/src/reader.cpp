// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <bit>
#include <charconv>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include <freehca/model/recording_format.hpp>
#include <freehca/recording/recording.hpp>

namespace freehca::recording {

namespace {

using nlohmann::json;

/// What is wrong with a line; its text goes behind the line's number.
struct wrong_line : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const json& member(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) throw wrong_line(std::string("no \"") + key + "\"");
  return *found;
}

std::uint64_t number(const json& value, const char* key) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::uint64_t n = 0;
    if (text.size() > 2 && text.compare(0, 2, "0x") == 0) {
      const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), n, 16);
      if (error == std::errc() && end == text.data() + text.size()) return n;
    }
  }
  throw wrong_line(std::string("\"") + key + "\" is no number");
}
std::uint64_t number_in(const json& line, const char* key) {
  return number(member(line, key), key);
}
std::uint64_t number_or_zero(const json& line, const char* key) {
  return line.contains(key) ? number_in(line, key) : 0;
}

std::string text_in(const json& line, const char* key) {
  const json& value = member(line, key);
  if (!value.is_string()) throw wrong_line(std::string("\"") + key + "\" is no text");
  return value.get<std::string>();
}

std::vector<std::byte> bytes_in(const json& line, const char* key) {
  const std::string text = text_in(line, key);
  std::vector<std::byte> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned n = 0;
    const char* at = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, n, 16);
    if (error != std::errc() || end != at + 2)
      throw wrong_line(std::string("\"") + key + "\" is not hexadecimal");
    bytes[i] = static_cast<std::byte>(n);
  }
  if (text.size() % 2 != 0) throw wrong_line(std::string("\"") + key + "\" has half a byte");
  return bytes;
}

/// Most bytes of one access, and of all that are told by a word that repeats: a short file must not
/// take a machine's memory. Recordings of drivers have a hundredth of it.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 24, most_filled = std::uint64_t{1} << 28;

/// No session lasts a month: a replay goes through all the time that it is told.
constexpr std::uint64_t most_ns = std::uint64_t{30} * 24 * 3600 * 1'000'000'000;

std::uint64_t time_in(const json& line, const char* key) {
  const std::uint64_t ns = number_or_zero(line, key);
  if (ns > most_ns)
    throw wrong_line(std::string("\"") + key + "\" is " + std::to_string(ns) +
                     " ns: more than thirty days");
  return ns;
}

/// The bytes of a read, a write or a packet, as many as `bytes` says.
void take_data(const json& line, record& r) {
  r.bytes = number_in(line, "bytes");
  if (r.bytes > most_bytes)
    throw wrong_line("\"bytes\" is " + std::to_string(r.bytes) + ": more than 16 MiB");
  r.refused = line.contains("refused");
  if (line.contains("fill")) {
    const std::vector<std::byte> word = bytes_in(line, "fill");
    if (word.size() != 4 || r.bytes % 4 != 0)
      throw wrong_line("\"fill\" is not one word of a whole number of words");
    r.data.reserve(r.bytes);
    for (std::uint64_t i = 0; i < r.bytes; i += 4)
      r.data.insert(r.data.end(), word.begin(), word.end());
  } else if (line.contains("hex")) {
    r.data = bytes_in(line, "hex");
  } else if (!r.refused) {
    throw wrong_line("no bytes (\"hex\" or \"fill\")");
  }
  if ((!r.refused || !r.data.empty()) && r.data.size() != r.bytes)
    throw wrong_line("\"bytes\" is " + std::to_string(r.bytes) + ", and there are " +
                     std::to_string(r.data.size()));
  if (line.contains("what")) {
    r.what = text_in(line, "what");
    r.of = number_or_zero(line, "of");
    r.index = number_or_zero(line, "index");
  }
}

void take_call(const json& line, record& r) {
  r.kind = record_kind::call;
  r.name = text_in(line, "call");
  member(line, "t");
  r.at = number_or_zero(line, "at");
  r.bytes = number_or_zero(line, "bytes");
  r.value = number_or_zero(line, "value");
  if (line.contains("hex")) take_data(line, r);
  if (line.contains("rules")) r.what = text_in(line, "rules");
  for (const auto& [key, value] : line.items())
    if (value.is_number_unsigned() || value.is_boolean())
      r.numbers[key] = number(value, key.c_str());
}

void take_command(const json& line, record& r) {
  r.opcode = static_cast<layouts::opcode>(number_in(line, "opcode"));
  r.token = static_cast<std::uint16_t>(number_in(line, "token"));
  r.output = number_in(line, "output");
}

record to_record(const json& line) {
  record r;
  r.time = time_in(line, "t");
  const auto simple = [&](record_kind kind, const char* key) {
    if (!line.contains(key)) return false;
    r.kind = kind;
    r.value = number_in(line, key);
    return true;
  };
  if (line.contains("call")) {
    take_call(line, r);
  } else if (line.contains("read") || line.contains("write")) {
    r.kind = line.contains("read") ? record_kind::read : record_kind::write;
    r.at = number_in(line, line.contains("read") ? "read" : "write");
    take_data(line, r);
  } else if (line.contains("store")) {
    r.kind = record_kind::store;
    r.at = number_in(line, "store");
    take_data(line, r);
  } else if (line.contains("step")) {
    r.kind = record_kind::step;
    r.name = text_in(line, "step");
  } else if (line.contains("send")) {
    r.kind = record_kind::send;
    r.at = number_in(line, "send");
    take_data(line, r);
  } else if (line.contains("command")) {
    r.kind = record_kind::command;
    r.name = text_in(line, "command");
    take_command(line, r);
    r.opcode_modifier = static_cast<std::uint8_t>(number_in(line, "opcode_modifier"));
    r.input_modifier = static_cast<std::uint32_t>(number_in(line, "input_modifier"));
    r.input = number_in(line, "input");
    r.event = number_in(line, "event") != 0;
  } else if (line.contains("answer")) {
    r.kind = record_kind::answer;
    r.name = text_in(line, "answer");
    take_command(line, r);
    r.status = static_cast<layouts::command_status>(number_in(line, "status"));
  } else if (line.contains("complaint")) {
    r.kind = record_kind::complaint;
    r.name = text_in(line, "complaint");
  } else if (!simple(record_kind::result, "result") && !simple(record_kind::msix, "msix") &&
             !simple(record_kind::intx, "intx") && !simple(record_kind::bus_master, "bus_master") &&
             !simple(record_kind::msix_enabled, "msix_enabled") &&
             !simple(record_kind::wipe, "wipe")) {
    throw wrong_line("no record of this format");
  }
  return r;
}

std::string known_variants() {
  std::string list;
  for (const std::string_view v : model::variant_names)
    list += (list.empty() ? "" : ", ") + std::string(v);
  return list;
}

/// Of the adapters whose recordings' headers do not say it.
constexpr std::uint64_t turn_units_before_headers_had_them = 4096;

/// Who has made it: the model, which tells nothing of that, or a recorder at the driver's side.
void take_maker(const json& line, recording& to) {
  if (!line.contains("by")) return;
  const std::string maker = text_in(line, "by");
  if (maker != "driver") throw wrong_line("\"by\" is \"" + maker + "\": driver, or nothing");
  const std::uint64_t version = number_in(line, "by_version");
  if (version != model::driver_recording_version)
    throw wrong_line("the recording has version " + std::to_string(version) +
                     " of what drivers record, and this program reads version " +
                     std::to_string(model::driver_recording_version) + " alone");
  if (to.of_model) throw wrong_line("\"by\" is \"driver\", and \"of\" is not \"card\"");
  to.by_driver = true;
}

/// Where they are not told they are what the built-in subnet manager gives.
void take_lids(const json& line, model::options& how) {
  constexpr std::uint64_t greatest_unicast = 0xbfff;
  for (const auto& [key, to] : {std::pair{"lids", how.lid}, std::pair{"sm_lids", how.sm_lid}}) {
    if (!line.contains(key)) continue;
    const json& values = line[key];
    if (!values.is_array() || values.size() != 2)
      throw wrong_line(std::string("\"") + key + "\" has not two values");
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint64_t lid = number(values[i], key);
      if (lid == 0 || lid > greatest_unicast)
        throw wrong_line(std::string("\"") + key + "\" has " + std::to_string(lid) +
                         ", which is no LID of a port");
      to[i] = static_cast<std::uint16_t>(lid);
    }
  }
}

model::capability_set capabilities_in(const json& line, const char* key) {
  model::capability_set all;
  for (const json& name : member(line, key)) {
    if (!name.is_string()) throw wrong_line("\"" + std::string(key) + "\" has what is no text");
    const auto set = model::capability_set::named(name.get_ref<const std::string&>());
    if (!set)
      throw wrong_line("\"" + std::string(key) + "\" has \"" + name.get<std::string>() +
                       "\", which is no capability");
    for (const model::capability_name& c : model::capability_names)
      if (set->has(c.what)) all.add(c.what);
  }
  return all;
}

void take_header(const json& line, recording& to) {
  if (!line.is_object() || !line.contains("freehca_recording"))
    throw wrong_line(
        "not a recording: the first line has no \"freehca_recording\" (docs/recording.md)");
  const std::uint64_t version = number_in(line, "freehca_recording");
  if (version != model::recording_version)
    throw wrong_line("the recording has version " + std::to_string(version) +
                     " of the format, and this program reads version " +
                     std::to_string(model::recording_version) + " alone");
  const std::string of = text_in(line, "of");
  if (of != "model" && of != "card") throw wrong_line("\"of\" is \"" + of + "\": model or card");
  to.of_model = of == "model";
  take_maker(line, to);
  const std::string variant = text_in(line, "variant");
  model::options& how = to.how;
  bool known = false;
  for (std::size_t i = 0; i < model::variant_names.size(); ++i) {
    if (variant != model::variant_names[i]) continue;
    how.kind = static_cast<model::variant>(i);
    known = true;
  }
  if (!known) throw wrong_line("\"variant\" is \"" + variant + "\": one of " + known_variants());
  how.ports = static_cast<unsigned>(number_in(line, "ports"));
  if (how.ports != 1 && how.ports != 2) throw wrong_line("\"ports\" is not 1 or 2");
  const json& links = member(line, "links");
  const json& cables = member(line, "cables");
  if (!links.is_array() || links.size() != 2 || !cables.is_array() || cables.size() != 2)
    throw wrong_line("\"links\" and \"cables\" have two values each");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto is = [&](bool ethernet, bool vpi) {
      return links[i] == model::link_name(ethernet, vpi);
    };
    how.vpi[i] = is(false, true) || is(true, true);
    how.link[i] = is(true, false) || is(true, true) ? model::link_layer::ethernet
                                                    : model::link_layer::infiniband;
    how.cable[i] = number(cables[i], "cables") != 0;
  }
  how.subnet_manager = number_in(line, "subnet_manager") != 0;
  take_lids(line, how);
  how.node_guid = number_in(line, "node_guid");
  how.mac = number_in(line, "mac");
  how.log_max_commands = static_cast<unsigned>(number_in(line, "log_max_commands"));
  if (how.log_max_commands > 7) throw wrong_line("\"log_max_commands\" is not from 0 to 7");
  if (line.contains("command_interface"))
    how.command_interface = static_cast<unsigned>(number_in(line, "command_interface"));
  how.uar_bar_bytes = number_in(line, "uar_bar_bytes");
  constexpr std::uint64_t least_bar = 8u << 20, most_bar = 128u << 20;
  if (!std::has_single_bit(how.uar_bar_bytes) || how.uar_bar_bytes < least_bar ||
      how.uar_bar_bytes > most_bar)
    throw wrong_line("\"uar_bar_bytes\" is no power of two from 8 to 128 MiB");
  how.without = capabilities_in(line, "without");
  // Of what is off unless asked for; recordings of most adapters do not tell.
  if (line.contains("with")) how.with = capabilities_in(line, "with");
  how.strict = number_or_zero(line, "strict") != 0;
  how.prefetch = number_or_zero(line, "prefetch") != 0;
  if (line.contains("doorbells_under_way"))
    how.doorbells_under_way = static_cast<std::uint32_t>(number_in(line, "doorbells_under_way"));
  if (line.contains("rules_off")) {
    const std::string rules = text_in(line, "rules_off");
    const auto set = model::rule_set::named(rules);
    if (!set) throw wrong_line("\"rules_off\" is \"" + rules + "\", and not all of them are rules");
    how.rules_off = *set;
  }
  member(line, "command_acceptance_ns");
  how.faults.command_acceptance_ns = time_in(line, "command_acceptance_ns");
  member(line, "command_latency_ns");
  how.faults.command_latency_ns = time_in(line, "command_latency_ns");
  how.faults.commands_side_by_side = number_in(line, "commands_side_by_side") != 0;
  // Recordings made before these were told have none of them.
  how.faults.work_latency_ns = time_in(line, "work_latency_ns");
  how.faults.reset_latency_ns = time_in(line, "reset_latency_ns");
  how.faults.time_seed = number_or_zero(line, "time_seed");
  if (line.contains("host_memory_limit"))
    how.host_memory_limit = number_in(line, "host_memory_limit");
  how.turn_units = line.contains("turn_units") ? number_in(line, "turn_units")
                                               : turn_units_before_headers_had_them;
  if (how.turn_units < model::options::least_turn_units)
    throw wrong_line("\"turn_units\" is " + std::to_string(how.turn_units) + ": " +
                     std::to_string(model::options::least_turn_units) + " or more");
  to.label = text_in(line, "label");
  to.usable = true;
}

/// A line has one level of its own, and the header's lists another: what is nested deeper is no
/// record, and taking it apart costs the stack.
json parse(const std::string& text, bool& too_deep) {
  constexpr int most_levels = 4;
  const auto watch = [&too_deep](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > most_levels;
    return !too_deep;
  };
  return json::parse(text, watch, false);
}

/// Why the text of a line is no JSON at all, in words that help.
std::string not_json(const std::string& text, bool first) {
  if (first && text.rfind("\xfd"
                          "7zXZ",
                          0) == 0)
    return "compressed: unpack it first (xz -dc FILE | ...), or use ./dev replay, which does";
  return first ? "not a recording: the first line is no JSON object (docs/recording.md)"
               : "not a record: it is no JSON object";
}

void load_into(recording& all, std::istream& from, const std::string& name) {
  std::size_t number_of_line = 0;
  const auto problem = [&](const std::string& why) {
    all.problem = name + ": line " + std::to_string(number_of_line) + ": " + why;
  };
  const auto before = [&] {
    return "; the " + std::to_string(all.records.size()) + " records before it are whole";
  };
  bool ended = false;
  std::uint64_t filled = 0;
  std::string text;
  while (std::getline(from, text)) {
    ++number_of_line;
    const bool first = number_of_line == 1;
    const bool cut = from.eof();  // no line's end
    if (ended) {
      problem("there is more behind the last record");
      return;
    }
    bool too_deep = false;
    const json line = parse(text, too_deep);
    if (too_deep) {
      problem("it is nested too deep for a record" + before());
      return;
    }
    if (!line.is_object() || cut) {
      if (cut && !first) problem("cut off in the middle of a record" + before());
      else problem(not_json(text, first) + (first ? "" : before()));
      return;
    }
    try {
      if (first) {
        take_header(line, all);
      } else if (line.contains("end")) {
        ended = true;
        const std::uint64_t told = number_in(line, "end");
        if (told != all.records.size())
          throw wrong_line("the last record tells of " + std::to_string(told) +
                           " before it, and there are " + std::to_string(all.records.size()) +
                           ": some are missing");
      } else {
        record r = to_record(line);
        r.line = number_of_line;
        if (line.contains("fill")) filled += r.data.size();
        if (filled > most_filled)
          throw wrong_line("what \"fill\" tells of is more than 256 MiB in all");
        all.records.push_back(std::move(r));
      }
    } catch (const wrong_line& why) {
      problem(first ? why.what() : std::string("not a record: ") + why.what() + before());
      return;
    }
  }
  if (number_of_line == 0) all.problem = name + ": empty: not a recording";
  else if (!ended)
    problem("the file ends here, and the last record (\"end\") is missing: it is cut off" +
            before());
}

}  // namespace

recording load(std::istream& from, const std::string& name) {
  recording all;
  all.name = name;
  try {
    load_into(all, from, name);
  } catch (const std::bad_alloc&) {
    all = {};
    all.problem = name + ": it does not fit into memory";
  }
  return all;
}

}  // namespace freehca::recording
