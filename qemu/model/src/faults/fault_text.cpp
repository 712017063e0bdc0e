// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "faults/fault_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace freehca::model {

namespace {

using fate = command_verdict::fate;

constexpr std::uint32_t opcodes = 0x1000;

/// Everything up to the next colon, taken off the front of `text`.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = text.find(':');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

std::optional<std::uint32_t> number(std::string_view word, std::uint32_t low, std::uint32_t high) {
  int base = 10;
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }
  std::uint32_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, value, base);
  if (error != std::errc{} || stopped != end || value < low || value > high) return std::nullopt;
  return value;
}

/// 0 means every command: no firmware command has that opcode.
std::optional<std::uint32_t> command_called(std::string_view word) {
  if (word == "any") return 0;
  for (std::uint32_t o = 1; o < opcodes; ++o)
    if (word == layouts::name_of(static_cast<layouts::opcode>(o))) return o;
  return number(word, 1, opcodes - 1);
}

std::optional<command_verdict> verdict_called(std::string_view word) {
  if (word == "silent") return command_verdict{fate::hold, {}};
  if (word == "lost") return command_verdict{fate::lose_answer, {}};
  if (word == "twice") return command_verdict{fate::answer_twice, {}};
  if (word == "stuck") return command_verdict{fate::keep_go, {}};
  const auto status = number(word, 1, 255);
  if (!status) return std::nullopt;
  return command_verdict{fate::refuse, static_cast<layouts::command_status>(*status)};
}

/// Past all types of event: every one of them.
constexpr std::uint32_t any_event = 0x40;

std::optional<std::uint32_t> event_called(std::string_view word) {
  if (word == "any") return any_event;
  if (word == "completion") return static_cast<std::uint32_t>(layouts::event_type::completion);
  if (word == "command") return static_cast<std::uint32_t>(layouts::event_type::command_completion);
  return number(word, 0, any_event - 1);
}

/// Which of those that are meant: `nth` from now on, or with 0 every one.
class turn {
 public:
  explicit turn(std::uint32_t nth) : nth_(nth) {}
  bool come() { return nth_ == 0 || ++seen_ == nth_; }

 private:
  std::uint32_t nth_, seen_ = 0;
};

/// What is left of `text`: nothing, or a number from 1 on.
std::optional<turn> turn_called(std::string_view text) {
  if (text.empty()) return turn(0);
  const auto given = number(text, 1, UINT32_MAX);
  return given ? std::optional(turn(*given)) : std::nullopt;
}

constexpr const char* turn_wanted = "which of them is a number from 1 on, or left out";

}  // namespace

const char* parse_command_fault(std::string_view text, command_judge& to) {
  if (text.empty()) {
    to = {};
    return nullptr;
  }
  const auto command = command_called(take_word(text));
  if (!command)
    return "a command is 'any', a name as in the counters (MAP_FA) or an opcode (0xfff)";
  const auto verdict = verdict_called(take_word(text));
  if (!verdict)
    return "what becomes of it is 'silent', 'lost', 'twice', 'stuck' or a status from 1 to 255";
  const auto nth = turn_called(text);
  if (!nth) return turn_wanted;
  to = [command = *command, verdict = *verdict, nth = *nth](layouts::opcode code,
                                                            std::uint32_t) mutable {
    const bool meant = command == 0 || command == static_cast<std::uint32_t>(code);
    return meant && nth.come() ? verdict : command_verdict{};
  };
  return nullptr;
}

const char* parse_link_fault(std::string_view text, link_faults& to) {
  link_faults wanted;
  while (!text.empty()) {
    const std::string_view kind = take_word(text);
    const bool seed = kind == "seed";
    std::uint32_t* rate = kind == "loss"          ? &wanted.loss
                          : kind == "corruption"  ? &wanted.corruption
                          : kind == "duplication" ? &wanted.duplication
                          : kind == "reordering"  ? &wanted.reordering
                                                  : nullptr;
    if (rate == nullptr && !seed)
      return "a fault is 'loss', 'corruption', 'duplication', 'reordering', or 'seed' begins the "
             "draws";
    const auto value = number(take_word(text), 0, seed ? UINT32_MAX : link_faults::always);
    if (!value) return "a rate is packets in a million, from 0 to 1000000, a seed has 32 bits";
    if (seed) wanted.seed = *value;
    else *rate = *value;
  }
  to = wanted;
  return nullptr;
}

const char* parse_event_fault(std::string_view text, event_judge& to) {
  if (text.empty()) {
    to = {};
    return nullptr;
  }
  const auto event = event_called(take_word(text));
  if (!event) return "an event is 'any', 'completion', 'command' or a type from 0 to 0x3f";
  const std::string_view word = take_word(text);
  if (word != "lost" && word != "twice") return "what becomes of it is 'lost' or 'twice'";
  const auto nth = turn_called(text);
  if (!nth) return turn_wanted;
  to = [event = *event, fate = word == "lost" ? event_fate::lose : event_fate::twice,
        nth = *nth](layouts::event_type type) mutable {
    const bool meant = event == any_event || event == static_cast<std::uint32_t>(type);
    return meant && nth.come() ? fate : event_fate::deliver;
  };
  return nullptr;
}

const char* parse_raised_event(std::string_view text, raised_event& to) {
  using layouts::event_type;
  using management = layouts::port_management_subtype;
  constexpr auto of = [](auto subtype) { return static_cast<std::uint8_t>(subtype); };
  constexpr struct {
    std::string_view name;
    event_type type;
    std::uint8_t subtype;
  } names[] = {
      {"client_reregister", event_type::port_management_change, of(management::port_info)},
      {"pkey_change", event_type::port_management_change, of(management::pkey_table)},
      {"gid_change", event_type::port_management_change, of(management::guid_info)},
      {"operation_required", event_type::operation_required, operation_of_multicast},
      {"ecc_detect", event_type::ecc_detect, 0},
      {"fatal_warning", event_type::fatal_warning, of(layouts::fatal_warning_subtype::temperature)},
      {"recoverable_error", event_type::recoverable_error,
       of(layouts::recoverable_error_subtype::bad_cable)},
  };
  raised_event wanted;
  const std::string_view word = take_word(text);
  const auto known = std::ranges::find(names, word, [](const auto& row) { return row.name; });
  if (known != std::end(names)) {
    wanted = {known->type, known->subtype, 1};
  } else {
    const auto type = number(word, 1, any_event - 1);
    if (!type)
      return "an event is 'client_reregister', 'pkey_change', 'gid_change', 'operation_required', "
             "'ecc_detect', 'fatal_warning', 'recoverable_error' or a type from 1 to 0x3f";
    wanted.type = static_cast<event_type>(*type);
  }
  if (!text.empty()) {
    const auto subtype = number(take_word(text), 0, 255);
    if (!subtype) return "a subtype is a number from 0 to 255, or left out";
    wanted.subtype = static_cast<std::uint8_t>(*subtype);
  }
  if (!text.empty()) {
    const auto port = number(text, 0, 255);
    if (!port) return "a port is a number from 0 to 255, or left out";
    wanted.port = static_cast<std::uint8_t>(*port);
  }
  to = wanted;
  return nullptr;
}

const char* parse_request_fault(std::string_view text, request_judge& to) {
  if (text.empty()) {
    to = {};
    return nullptr;
  }
  const auto request = number(take_word(text), 0, 0x1f);
  if (!request) return "a work request is an opcode from 0 to 0x1f";
  if (take_word(text) != "refused") return "what becomes of it is 'refused'";
  const auto nth = turn_called(text);
  if (!nth) return turn_wanted;
  to = [request = *request, nth = *nth](layouts::wqe_opcode opcode) mutable {
    return request != static_cast<std::uint32_t>(opcode) || !nth.come();
  };
  return nullptr;
}

}  // namespace freehca::model
