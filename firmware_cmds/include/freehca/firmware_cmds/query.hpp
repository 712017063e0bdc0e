// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_port.hpp>

namespace freehca::commands {

/// Reads the capabilities of the device, and the resources that it reserves for itself.
using query_dev_cap = family<opcode::query_dev_cap, nothing, layouts::query_dev_cap>;

/// Reads the interrupt pin and the name of the board.
using query_adapter = family<opcode::query_adapter, nothing, layouts::query_adapter>;

/// Reads the parameters that the device took from INIT_HCA.
using query_hca = family<opcode::query_hca, nothing, layouts::init_hca>;

/// Reads the capabilities and the link layer of a port. Ports count from 1.
using query_port = family<opcode::query_port, nothing, layouts::query_port, object_kind::port>;

}  // namespace freehca::commands
