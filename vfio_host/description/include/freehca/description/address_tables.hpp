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

/// The GID and P_Key tables of a port: all entries, including empty ones (zero).
struct port_tables {
  unsigned port = 0;
  std::vector<gid> gids;
  std::vector<std::uint16_t> pkeys;
};

/// Reads the tables of all InfiniBand ports. Each datagram to the port's own agent reads eight GIDs
/// or 32 P_Keys. The device must be up. `wait` drives it until the operation is done, and returns
/// the outcome.
status read_address_tables(device& adapter, const std::function<status(operation&)>& wait,
                           std::vector<port_tables>& to);

/// [{"port": 1, "gids": {"0": "fe80::..."}, "pkeys": {"0": "0xffff"}}]: the entries that are not
/// empty.
nlohmann::json to_json(const std::vector<port_tables>& of);
/// The same as text, a few lines with a newline at the end.
std::string to_text(const std::vector<port_tables>& of);

}  // namespace freehca::description
