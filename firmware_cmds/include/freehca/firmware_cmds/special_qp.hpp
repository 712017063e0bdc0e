// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/mad_ifc.hpp>

namespace freehca::commands {

/// Makes QPs `base_qpn` to `base_qpn` + 7 the special QPs. If `base_qpn` is 0, there are no special
/// QPs.
struct conf_special_qp : family<opcode::conf_special_qp, nothing, nothing> {
  static void aim(command_request& r, std::uint32_t base_qpn) { r.input_modifier = base_qpn; }
};

}  // namespace freehca::commands
