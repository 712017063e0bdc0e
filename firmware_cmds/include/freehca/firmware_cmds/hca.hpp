// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/init_hca.hpp>

namespace freehca::commands {

/// Initialises the device with its tables in context memory.
using init_hca = family<opcode::init_hca, layouts::init_hca, nothing, object_kind::none, exclusive>;

/// Undoes INIT_HCA: the device forgets all objects. Context memory stays lent.
using close_hca = family<opcode::close_hca, nothing, nothing, object_kind::none,
                         traits_of(layouts::close_hca_modifier::normal, exclusive_teardown)>;

}  // namespace freehca::commands
