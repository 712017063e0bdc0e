// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/hca/device.hpp>

namespace freehca::description {

/// Whether a description names the one adapter that it is of: by the GUIDs of node, system image
/// and ports.
enum class identity : bool { left_out, told };

/// What the device is, what it can do, and what it has been lent. It has been brought up.
nlohmann::json to_json(const device& adapter, identity who = identity::told);
/// {"limits": {...}, "reserved": {...}, "flags": [...]}: what it told in QUERY_DEV_CAP and
/// QUERY_PORT, whatever less the driver makes of it.
nlohmann::json to_json(const capabilities& of);

/// The same for people: a few lines each, with a newline at the end.
std::string to_text(const device& adapter, identity who = identity::told);
std::string to_text(const capabilities& of);

}  // namespace freehca::description
