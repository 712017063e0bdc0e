// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "control_requests.hpp"

namespace freehca::device_server {

using json = nlohmann::ordered_json;

/// An argument of a request.
struct control_argument {
  enum class kind { text, number, names, value };
  const char* name;
  kind type;
  bool required;
  const char* what;
};

/// One request. Its arguments have been checked against `arguments` when `answer` is called.
struct control_request {
  const char* name;
  std::span<const control_argument> arguments;
  const char* what;
  json (*answer)(control_subject& about, const json& arguments);
};

std::span<const control_request> control_request_rows();

/// The answer that refuses a request: the reason, and the permitted values if they can be listed.
json refusal(const std::string& error, json known = nullptr);
/// The beginning of an answer that reports success.
inline json success() {
  return {{"ok", true}};
}

// The answers to the requests of these names (control_reports.cpp).
json state_answer(control_subject& about, const json& arguments);
json receives_answer(control_subject& about, const json& arguments);

}  // namespace freehca::device_server
