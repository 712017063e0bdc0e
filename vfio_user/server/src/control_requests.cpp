// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "control_requests.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "control_answers.hpp"

namespace freehca::device_server {
namespace {

constexpr std::size_t longest_quotation = 200;

// Quotes a part of the client's text, so that the answer has a bounded length.
std::string quoted(const std::string& text) {
  return text.size() <= longest_quotation ? text : text.substr(0, longest_quotation) + "...";
}

// Bytes that are not UTF-8 are replaced.
std::string line_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

const char* name_of(control_argument::kind type) {
  switch (type) {
    case control_argument::kind::text:
      return "a string";
    case control_argument::kind::number:
      return "a number from 0 on";
    case control_argument::kind::names:
      return "a list of strings";
    case control_argument::kind::value:
      break;
  }
  return "a string, a number from 0 on, true or false";
}

bool fits(const json& value, control_argument::kind type) {
  switch (type) {
    case control_argument::kind::text:
      return value.is_string();
    case control_argument::kind::number:
      return value.is_number_unsigned();
    case control_argument::kind::names:
      return value.is_array() && std::ranges::all_of(value, [](auto& v) { return v.is_string(); });
    case control_argument::kind::value:
      break;
  }
  return value.is_string() || value.is_number_unsigned() || value.is_boolean();
}

json names_of(std::span<const control_argument> arguments) {
  json names = json::array();
  for (const control_argument& one : arguments) names.push_back(one.name);
  return names;
}

json check_arguments(const control_request& row, const json& request) {
  for (const auto& [name, value] : request.items()) {
    if (name == "request" || name == "id") continue;  // checked where they are used
    const auto found = std::ranges::find_if(
        row.arguments, [&name = name](const control_argument& one) { return one.name == name; });
    if (found == row.arguments.end())
      return refusal(fmt::format("{}: no argument '{}'", row.name, quoted(name)),
                     names_of(row.arguments));
    if (!fits(value, found->type))
      return refusal(fmt::format("{}: '{}' is {}", row.name, name, name_of(found->type)));
  }
  for (const control_argument& one : row.arguments)
    if (one.required && !request.contains(one.name))
      return refusal(fmt::format("{}: '{}' is missing: {}", row.name, one.name, name_of(one.type)),
                     names_of(row.arguments));
  return nullptr;
}

json requests_there_are() {
  json names = json::array();
  for (const control_request& row : control_request_rows()) names.push_back(row.name);
  return names;
}

json answer_request(control_subject& about, const json& request) {
  if (!request.is_object()) return refusal("a request is an object, as in {\"request\":\"help\"}");
  if (!request.contains("request") || !request["request"].is_string())
    return refusal("'request' is missing: a string", requests_there_are());
  const std::string name = request["request"];
  for (const control_request& row : control_request_rows()) {
    if (name != row.name) continue;
    json wrong = check_arguments(row, request);
    return wrong.is_null() ? row.answer(about, request) : wrong;
  }
  return refusal(fmt::format("no request '{}'", quoted(name)), requests_there_are());
}

}  // namespace

json refusal(const std::string& error, json known) {
  json answer{{"ok", false}, {"error", error}};
  if (!known.is_null()) answer["known"] = std::move(known);
  return answer;
}

std::string answer_control_request(control_subject& about, std::string_view line) {
  json request;
  try {
    request = json::parse(line);
  } catch (const json::exception& e) {
    return line_of(refusal("this is no JSON: " + quoted(e.what())));
  }
  // The client may mark a request with an id, which the answer repeats. A list is refused, because
  // it could be nested so deeply that formatting it overflows the stack.
  const bool marked = request.is_object() && request.contains("id");
  if (marked && !fits(request["id"], control_argument::kind::value))
    return line_of(refusal(fmt::format("'id' is {}", name_of(control_argument::kind::value))));
  json answer = answer_request(about, request);
  if (marked) answer["id"] = request["id"];
  return line_of(answer);
}

}  // namespace freehca::device_server
