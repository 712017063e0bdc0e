// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "control_requests.hpp"

namespace freehca::device_server {

using json = nlohmann::ordered_json;

/// What a request takes beside its name.
struct control_argument {
  enum class kind { text, number, names, value };
  const char* name;
  kind type;
  bool wanted;
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

/// The answer that says no: what is wrong, and what there is instead, if that can be listed.
json refusal(const std::string& error, json known = nullptr);
/// The beginning of one that says yes.
inline json success() {
  return {{"ok", true}};
}

// What requests of that name answer (control_reports.cpp).
json state_answer(control_subject& about, const json& arguments);
json receives_answer(control_subject& about, const json& arguments);

}  // namespace freehca::device_server
