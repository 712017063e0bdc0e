// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/hca/device_info.hpp>
#include <freehca/verified_traffic/traffic.hpp>

namespace freehca::verified_traffic {

/// A status in words, with the names of steps, commands and budgets.
std::string words(status s);

nlohmann::json to_json(const device_info& info);
nlohmann::json to_json(const traffic_result& result);

/// The same for people: a few lines each, with a newline at the end.
std::string to_text(const device_info& info);
std::string to_text(const traffic_result& result);

}  // namespace freehca::verified_traffic
