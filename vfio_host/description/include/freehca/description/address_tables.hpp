// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <freehca/hca/device.hpp>

namespace freehca::description {

/// The tables of a port that addresses are made of: all places, those that hold nothing (zero) as
/// well.
struct port_tables {
  unsigned port = 0;
  std::vector<gid> gids;
  std::vector<std::uint16_t> pkeys;
};

/// Reads those of all InfiniBand ports, eight GIDs or 32 P_Keys by each datagram to the port's own
/// agent. The device is up; `wait` drives it until the operation is done, and gives its outcome.
status read_address_tables(device& adapter, const std::function<status(operation&)>& wait,
                           std::vector<port_tables>& to);

/// [{"port": 1, "gids": {"0": "fe80::..."}, "pkeys": {"0": "0xffff"}}]: the places that hold
/// something.
nlohmann::json to_json(const std::vector<port_tables>& of);
/// The same for people, a few lines with a newline at the end.
std::string to_text(const std::vector<port_tables>& of);

}  // namespace freehca::description
