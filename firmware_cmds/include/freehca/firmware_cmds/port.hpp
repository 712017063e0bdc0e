// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_port.hpp>

namespace freehca::commands {

/// Brings the physical layer of a port up. Ports count from 1.
using init_port = family<opcode::init_port, nothing, nothing, object_kind::port, exclusive>;

/// Takes the physical layer of a port down.
using close_port =
    family<opcode::close_port, nothing, nothing, object_kind::port, exclusive_teardown>;

/// Sets the limits and capabilities of an InfiniBand port before INIT_PORT. Sets the capability
/// mask of the port at any time.
using set_port_ib = family<opcode::set_port, layouts::set_port_ib, nothing, object_kind::port,
                           traits_of(layouts::set_port_modifier::ib, exclusive)>;

}  // namespace freehca::commands
