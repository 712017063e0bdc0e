// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/srqc.hpp>

namespace freehca::commands {

/// Creates a shared receive queue.
using sw2hw_srq = family<opcode::sw2hw_srq, layouts::srqc, nothing, object_kind::srq>;

/// Destroys a shared receive queue.
using hw2sw_srq = family<opcode::hw2sw_srq, nothing, nothing, object_kind::srq, destruction>;

/// Arms one limit event, which occurs when fewer entries than the limit are posted. The targets are
/// the number of the shared receive queue and the limit.
using arm_srq = family<opcode::arm_srq, immediate, nothing, object_kind::srq>;

}  // namespace freehca::commands
