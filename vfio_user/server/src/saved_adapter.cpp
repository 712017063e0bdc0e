// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "saved_adapter.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "setting_rows.hpp"
#include "state_stream.hpp"

namespace freehca::device_server {
namespace {

constexpr std::size_t longest_quoted = 100;

/// An option of the server that decides what a client sees, and that the model does not know. The
/// variant, which the model knows too, comes first, because it decides others.
struct decisive_option {
  std::string name;
  std::uint64_t value = 0;
};

std::vector<decisive_option> decisive_options(const settings& how) {
  const configuration_options& c = how.configuration;
  return {{"variant", how.model.variant},
          {"x-device-id", c.device_id},
          {"class-code", c.class_code},
          {"flr", c.function_level_reset},
          {"x-msix", c.msix}};
}

std::vector<std::byte> write_options(const settings& how) {
  state_writer to;
  for (const decisive_option& one : decisive_options(how)) {
    to.text(one.name);
    to.number(one.value);
  }
  return std::move(to.written());
}

std::string check_options(const settings& how, std::span<const std::byte> bytes) {
  state_reader from(bytes);
  for (const decisive_option& own : decisive_options(how)) {
    decisive_option saved;
    from.text(saved.name);
    from.number(saved.value);
    if (!from.ok()) return "its options are cut";
    if (saved.name != own.name)
      return fmt::format("it has the option {}, and this server has {}",
                         saved.name.substr(0, longest_quoted), own.name);
    if (saved.value != own.value)
      return fmt::format("{} is {:#x} in the state, and {:#x} in this server", own.name,
                         saved.value, own.value);
  }
  return from.at_end() ? "" : "it has options that this server does not have";
}

/// A setting that the command line has too. Others are actions, and states of the model.
const setting_row* option_of(std::string_view name) {
  const auto rows = setting_rows();
  const auto found = std::ranges::find_if(rows, [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<std::byte> write_settings(const served_adapter& of) {
  state_writer to;
  for (const run_time_setting& row : run_time_settings()) {
    if (option_of(row.name) == nullptr) continue;
    to.text(row.name);
    to.text(row.read(of));
  }
  return std::move(to.written());
}

struct saved_setting {
  const setting_row* row;
  std::string value;
};

// The values are tried on settings that nobody uses, so that a refusal changes nothing.
std::string read_settings(std::span<const std::byte> bytes, std::vector<saved_setting>& to) {
  settings tried;
  state_reader from(bytes);
  while (from.left() != 0) {
    std::string name, value;
    from.text(name);
    from.text(value);
    if (!from.ok()) return "its settings are cut";
    const setting_row* row = option_of(name);
    if (row == nullptr)
      return fmt::format("it has the setting {}, which this build does not know",
                         name.substr(0, longest_quoted));
    if (const std::string allowed = row->take(tried, value); !allowed.empty())
      return fmt::format("its setting {} is {}: {}", name, value.substr(0, longest_quoted),
                         allowed);
    to.push_back({row, std::move(value)});
  }
  return "";
}

template <class Part>
std::vector<std::byte> write_part(Part& part) {
  state_writer to;
  part.transfer_state(to);
  return std::move(to.written());
}

constexpr std::array<std::string_view, 4> names{"options", "settings", "function", "adapter"};
enum place : unsigned { options_place, settings_place, function_place, adapter_place };

}  // namespace

std::string obstacle_to_saving(const served_adapter& of) {
  std::array<char, 512> why;
  return freehca_model_obstacle_to_saving(of.function.model(), why.data(), why.size()) ? why.data()
                                                                                       : "";
}

std::vector<std::byte> save_adapter(served_adapter& of) {
  const std::array<std::vector<std::byte>, names.size()> parts{
      write_options(of.how), write_settings(of), write_part(of.function), of.function.save_model()};
  std::vector<state_section> sections;
  for (std::size_t i = 0; i < parts.size(); ++i) sections.push_back({names[i], parts[i]});
  return write_state_stream(sections);
}

std::string load_adapter(served_adapter& to, std::span<const std::byte> from) {
  std::vector<state_section> sections;
  if (std::string why = read_state_stream(from, sections); !why.empty()) return why;
  for (std::size_t i = 0; i < std::max(sections.size(), names.size()); ++i) {
    if (i >= sections.size()) return fmt::format("section {} is missing", names[i]);
    if (i >= names.size() || sections[i].name != names[i])
      return fmt::format("section {} is not known, or not in its place", sections[i].name);
  }
  if (std::string why = check_options(to.how, sections[options_place].bytes); !why.empty())
    return why;
  std::vector<saved_setting> values;
  if (std::string why = read_settings(sections[settings_place].bytes, values); !why.empty())
    return why;
  state_writer before;
  to.function.transfer_state(before);
  state_reader function(sections[function_place].bytes);
  to.function.transfer_state(function);
  std::string why;
  if (!function.at_end()) why = "section function has a wrong length, or a flag that is none";
  else why = to.function.load_model(sections[adapter_place].bytes);
  if (!why.empty()) {
    state_reader again(before.written());
    to.function.transfer_state(again);
    return why;
  }
  for (const saved_setting& one : values) one.row->take(to.how, one.value);
  to.how.model.rules_off = to.how.rules_off.c_str();
  return "";
}

}  // namespace freehca::device_server
