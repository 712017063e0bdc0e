// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Transitions of a queue pair that change attributes or drain the send queue. The driver sends them
// as any_qp_transition.
#pragma once

#include <freehca/firmware_cmds/qp.hpp>

namespace freehca::commands {

using init2init_qp = modify_qp<opcode::init2init_qp>;
using rts2rts_qp = modify_qp<opcode::rts2rts_qp>;
using sqerr2rts_qp = modify_qp<opcode::sqerr2rts_qp>;
using rts2sqd_qp = modify_qp<opcode::rts2sqd_qp>;
using sqd2sqd_qp = modify_qp<opcode::sqd2sqd_qp>;
using sqd2rts_qp = modify_qp<opcode::sqd2rts_qp>;

}  // namespace freehca::commands
