// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requests of the control socket: docs/device-server.md.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "control_answers.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {
namespace {

using kind = control_argument::kind;

constexpr std::size_t longest_dump = 16384;

json help_answer(control_subject&, const json&) {
  json answer = success();
  for (const control_request& row : control_request_rows()) {
    json one{{"request", row.name}, {"what", row.what}};
    for (const control_argument& argument : row.arguments)
      one[argument.required ? "arguments" : "optional"][argument.name] = argument.what;
    answer["requests"].push_back(std::move(one));
  }
  return answer;
}

json counters_answer(control_subject& about, const json& arguments) {
  json all = json::object();
  const char* name = nullptr;
  std::uint64_t value = 0;
  freehca_model* model = about.adapter.function.model();
  for (unsigned i = 0; freehca_model_counter(model, i, &name, &value); ++i) all[name] = value;
  json answer = success();
  if (!arguments.contains("names")) {
    answer["counters"] = std::move(all);
    return answer;
  }
  answer["counters"] = json::object();
  for (const std::string one : arguments["names"]) {
    if (!all.contains(one)) {
      json known = json::array();
      for (const auto& [known_name, ignored] : all.items()) known.push_back(known_name);
      return refusal("no counter '" + one.substr(0, 100) + "'", std::move(known));
    }
    answer["counters"][one] = all[one];
  }
  return answer;
}

json dump_answer(control_subject& about, const json& arguments) {
  const std::string object = arguments["object"];
  std::vector<char> text(longest_dump);
  if (!freehca_model_dump(about.adapter.function.model(), object.substr(0, 100).c_str(),
                          text.data(), text.size()))
    return refusal(fmt::format("dump: {}", text.data()));
  json answer = success();
  answer["object"] = object;
  answer["fields"] = json::object();
  std::string_view rest = text.data();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n'), colon = rest.find(": ");
    if (colon < end && end != std::string_view::npos)
      answer["fields"][std::string(rest.substr(0, colon))] =
          std::string(rest.substr(colon + 2, end - colon - 2));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return answer;
}

json explain_answer(control_subject& about, const json& arguments) {
  struct reader {
    std::uint64_t after;
    json lines = json::array();
  } all{arguments.value("after", std::uint64_t{0})};
  freehca_model_remarks(
      about.adapter.function.model(),
      [](void* to, std::uint64_t number, std::uint64_t time, const char* what, const char* rule,
         const char* text) {
        auto& list = *static_cast<reader*>(to);
        if (number <= list.after) return;
        without_exceptions([&] {
          list.lines.push_back(
              {{"number", number},
               {"seconds", fmt::format("{}.{:09}", time / 1'000'000'000, time % 1'000'000'000)},
               {"kind", what},
               {"rule", rule},
               {"text", text}});
        });
      },
      &all);
  json answer = success();
  answer["explanations"] = std::move(all.lines);
  return answer;
}

json names_of_settings() {
  json names = json::array();
  for (const run_time_setting& row : run_time_settings()) names.push_back(row.name);
  return names;
}

const run_time_setting* find_setting(const std::string& name) {
  const auto rows = run_time_settings();
  const auto found = std::ranges::find_if(rows, [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

json no_setting(const std::string& name) {
  return refusal("no setting '" + name.substr(0, 100) + "' that can be changed",
                 names_of_settings());
}

json settings_answer(control_subject& about, const json&) {
  json answer = success();
  for (const run_time_setting& row : run_time_settings())
    answer["settings"][row.name] = {{"value", row.read(about.adapter)}, {"what", row.what}};
  return answer;
}

json get_answer(control_subject& about, const json& arguments) {
  const std::string name = arguments["name"];
  const run_time_setting* row = find_setting(name);
  if (row == nullptr) return no_setting(name);
  json answer = success();
  answer["name"] = name;
  answer["value"] = row->read(about.adapter);
  return answer;
}

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

json set_answer(control_subject& about, const json& arguments) {
  const std::string name = arguments["name"], value = text_of(arguments["value"]);
  const run_time_setting* row = find_setting(name);
  if (row == nullptr) return no_setting(name);
  if (value.find('\0') != std::string::npos)
    return refusal(fmt::format("{}: the value has a byte of zero in it", name));
  if (const std::string why = row->write(about.adapter, value); !why.empty())
    return refusal(fmt::format("{}: {}: {}", name, value.substr(0, 100), why));
  json answer = success();
  answer["name"] = name;
  answer["value"] = row->read(about.adapter);
  return answer;
}

json upgrade_answer(control_subject& about, const json&) {
  std::string version;
  const std::string why = about.upgrade ? about.upgrade(version) : "there is no server";
  if (!why.empty()) return refusal(fmt::format("upgrade: {}", why));
  json answer = success();
  answer["version"] = version;
  return answer;
}

constexpr control_argument counters_arguments[] = {
    {"names", kind::names, false, "a list of the counters that are wanted; without it all are"}};
constexpr control_argument dump_arguments[] = {
    {"object", kind::text, true,
     "KIND:NUMBER, as in qp:0x41; the kinds are qp cq eq srq mpt, an mpt goes by its index"}};
constexpr control_argument explain_arguments[] = {
    {"after", kind::number, false, "only those with a greater number"}};
constexpr control_argument get_arguments[] = {{"name", kind::text, true, "of the setting"}};
constexpr control_argument set_arguments[] = {
    {"name", kind::text, true, "of the setting"},
    {"value", kind::value, true, "as on the command line; true is on, false is off"}};
constexpr control_argument receives_arguments[] = {
    {"port", kind::number, true, "1 or 2: an Ethernet port that is open"}};

constexpr control_request requests[] = {
    {"help", {}, "this list", help_answer},
    {"state", {}, "the client, the adapter, its ports and their cables", state_answer},
    {"counters", counters_arguments, "counters by name", counters_answer},
    {"explain", explain_arguments,
     "the last hundred commands that were refused and complaints, and why", explain_answer},
    {"dump", dump_arguments, "the fields of an object's context that are not zero", dump_answer},
    {"receives", receives_arguments, "what a port's driver lets in", receives_answer},
    {"settings",
     {},
     "what can be changed now: faults, cables, strictness; with values",
     settings_answer},
    {"get", get_arguments, "the value of one of them", get_answer},
    {"set", set_arguments, "changes one of them", set_answer},
    {"upgrade",
     {},
     "the program file is started again, and takes over the client, its memory and the cables",
     upgrade_answer},
};

}  // namespace

std::span<const control_request> control_request_rows() {
  return requests;
}

}  // namespace freehca::device_server
