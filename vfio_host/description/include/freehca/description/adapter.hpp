// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/hca/device.hpp>

namespace freehca::description {

/// Whether a description includes the GUIDs of node, system image and ports, which identify the
/// adapter.
enum class identity : bool { left_out, included };

/// The device's identity, capabilities and lent memory. The device must have been brought up.
nlohmann::json to_json(const device& adapter, identity who = identity::included);
/// {"limits": {...}, "reserved": {...}, "flags": [...]}: the adapter's answers to QUERY_DEV_CAP and
/// QUERY_PORT. The driver may use less.
nlohmann::json to_json(const capabilities& of);

/// The same as text: a few lines each, with a newline at the end.
std::string to_text(const device& adapter, identity who = identity::included);
std::string to_text(const capabilities& of);

}  // namespace freehca::description
