// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/loopback_traffic/traffic.hpp>

namespace freehca::loopback_traffic {

nlohmann::json to_json(const traffic_result& result);
/// The same for people: a few lines, with a newline at the end.
std::string to_text(const traffic_result& result);

}  // namespace freehca::loopback_traffic
