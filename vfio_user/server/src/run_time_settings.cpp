// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "run_time_settings.hpp"

#include <array>

#include <fmt/format.h>

#include "setting_rows.hpp"

namespace freehca::device_server {
namespace {

using text = const std::string&;
using adapter = served_adapter;

std::string words(bool on) {
  return on ? "on" : "off";
}

// Sets a value from text, as the command line does.
std::string take(settings& to, std::string_view name, text t) {
  for (const setting_row& row : setting_rows())
    if (row.name == name) return row.take(to, t);
  return "no such setting";
}

std::string set_time(adapter& a, const char* name, text t) {
  if (std::string why = take(a.how, name, t); !why.empty()) return why;
  const freehca_model_options& m = a.how.model;
  freehca_model_set_command_times(a.function.model(), m.command_acceptance_ns, m.command_latency_ns,
                                  m.commands_side_by_side);
  freehca_model_set_work_times(a.function.model(), m.work_latency_ns, m.reset_latency_ns,
                               m.time_seed);
  return "";
}

std::string set_command_fault(adapter& a, text t) {
  std::array<char, 512> why;
  if (!freehca_model_set_command_fault(a.function.model(), t.c_str(), why.data(), why.size()))
    return fmt::format("COMMAND:FATE or COMMAND:FATE:N, where {}", why.data());
  a.how.command_fault = t;
  return "";
}

std::string set_event_fault(adapter& a, text t) {
  std::array<char, 512> why;
  if (!freehca_model_set_event_fault(a.function.model(), t.c_str(), why.data(), why.size()))
    return fmt::format("EVENT:FATE or EVENT:FATE:N, where {}", why.data());
  a.how.event_fault = t;
  return "";
}

std::string set_link_fault(adapter& a, unsigned port, text t) {
  std::array<char, 512> why;
  if (!freehca_model_set_link_fault(a.function.model(), port, t.c_str(), why.data(), why.size()))
    return fmt::format("KIND:RATE or KIND:RATE:KIND:RATE and so on, where {}", why.data());
  a.how.link_fault[port - 1] = t;
  return "";
}

std::string set_held_commands(adapter& a, text t) {
  if (t != "0") return "0: the commands that are held are run and answered then";
  freehca_model_answer_held_commands(a.function.model());
  return "";
}

std::string set_removed(adapter& a, text t) {
  bool removed = false;
  if (std::string why = take_switch(removed, t); !why.empty()) return why;
  a.function.remove(removed);
  return "";
}

std::string set_catastrophic(adapter& a, text t) {
  if (t != "on") return "it can only be switched on; a reset of the function ends it";
  freehca_model_fail(a.function.model());
  return "";
}

/// It reads as empty. Empty text raises nothing.
std::string raise_event(adapter& a, text t) {
  if (t.empty()) return "";
  std::array<char, 512> why;
  if (freehca_model_raise_event(a.function.model(), t.c_str(), why.data(), why.size())) return "";
  return fmt::format("EVENT, EVENT:SUBTYPE or EVENT:SUBTYPE:PORT, where {}", why.data());
}

std::string set_strict(adapter& a, text t) {
  if (std::string why = take_switch(a.how.model.strict, t); !why.empty()) return why;
  freehca_model_set_strict(a.function.model(), a.how.model.strict);
  return "";
}

std::string set_rules_off(adapter& a, text t) {
  std::array<char, 8192> why;
  if (!freehca_model_set_rules_off(a.function.model(), t.c_str(), why.data(), why.size()))
    return why.data();
  a.how.rules_off = t;
  a.how.model.rules_off = a.how.rules_off.c_str();
  return "";
}

std::string set_cable(adapter& a, unsigned port, text t) {
  if (port > a.how.model.ports)
    return fmt::format("the adapter has {} port", unsigned{a.how.model.ports});
  bool& plugged = a.how.cable_plugged[port - 1];
  if (std::string why = take_switch(plugged, t); !why.empty()) return why;
  freehca_model_plug_cable(a.function.model(), port, plugged);
  return "";
}

// clang-format off
constexpr run_time_setting changeable[] = {
    {"cable1", "off: the cable of port 1, wherever it leads, is pulled",
     [](const adapter& a) { return words(a.how.cable_plugged[0]); },
     [](adapter& a, text t) { return set_cable(a, 1, t); }},
    {"cable2", "the same for port 2",
     [](const adapter& a) { return words(a.how.cable_plugged[1]); },
     [](adapter& a, text t) { return set_cable(a, 2, t); }},
    {"strict", "on: what no source says that hardware refuses is refused too",
     [](const adapter& a) { return words(a.how.model.strict); }, set_strict},
    {"trace", "on: each command, event, doorbell and refusal is a line on stderr",
     [](const adapter& a) { return words(a.how.trace); },
     [](adapter& a, text t) { return take_switch(a.how.trace, t); }},
    {"x-rules-off", "rules that the guest's driver is not held to, with commas between them",
     [](const adapter& a) { return a.how.rules_off; }, set_rules_off},
    {"x-fault-command", "what becomes of firmware commands: COMMAND:FATE or COMMAND:FATE:N",
     [](const adapter& a) { return a.how.command_fault; }, set_command_fault},
    {"x-fault-event", "what becomes of events: EVENT:FATE or EVENT:FATE:N",
     [](const adapter& a) { return a.how.event_fault; }, set_event_fault},
    {"x-fault-link1", "what the cable does to packets that port 1 sends, in a million: KIND:RATE...",
     [](const adapter& a) { return a.how.link_fault[0]; },
     [](adapter& a, text t) { return set_link_fault(a, 1, t); }},
    {"x-fault-link2", "the same for port 2",
     [](const adapter& a) { return a.how.link_fault[1]; },
     [](adapter& a, text t) { return set_link_fault(a, 2, t); }},
    {"x-fault-held-commands", "commands that x-fault-command keeps silent; 0 runs and answers them",
     [](const adapter& a) { return fmt::format("{}", freehca_model_held_commands(a.function.model())); },
     set_held_commands},
    {"x-fault-removed", "on: as if pulled out without a word; off: plugged in again",
     [](const adapter& a) { return words(a.function.removed()); }, set_removed},
    {"x-fault-raise", "raises an event: EVENT[:SUBTYPE[:PORT]]",
     [](const adapter&) { return std::string(); }, raise_event},
    {"x-fault-catastrophic", "on: the adapter has an internal error, until it is reset",
     [](const adapter& a) { return words(freehca_model_failed(a.function.model())); },
     set_catastrophic},
    {"x-fault-command-acceptance", "nanoseconds from GO's being set to the command's acceptance",
     [](const adapter& a) { return fmt::format("{}", a.how.model.command_acceptance_ns); },
     [](adapter& a, text t) { return set_time(a, "x-fault-command-acceptance", t); }},
    {"x-fault-command-latency", "nanoseconds from a command's acceptance to its completion",
     [](const adapter& a) { return fmt::format("{}", a.how.model.command_latency_ns); },
     [](adapter& a, text t) { return set_time(a, "x-fault-command-latency", t); }},
    {"x-fault-commands-side-by-side", "off: latencies of commands add up, one after the other",
     [](const adapter& a) { return words(a.how.model.commands_side_by_side); },
     [](adapter& a, text t) { return set_time(a, "x-fault-commands-side-by-side", t); }},
    {"x-fault-work-latency", "nanoseconds from a send doorbell to the look at its queue",
     [](const adapter& a) { return fmt::format("{}", a.how.model.work_latency_ns); },
     [](adapter& a, text t) { return set_time(a, "x-fault-work-latency", t); }},
    {"x-fault-reset-latency", "nanoseconds for which a software reset leaves nobody there",
     [](const adapter& a) { return fmt::format("{}", a.how.model.reset_latency_ns); },
     [](adapter& a, text t) { return set_time(a, "x-fault-reset-latency", t); }},
    {"x-fault-time-seed", "not 0: these times are the most, each is drawn",
     [](const adapter& a) { return fmt::format("{}", a.how.model.time_seed); },
     [](adapter& a, text t) { return set_time(a, "x-fault-time-seed", t); }},
};
// clang-format on

}  // namespace

std::span<const run_time_setting> run_time_settings() {
  return changeable;
}

}  // namespace freehca::device_server
