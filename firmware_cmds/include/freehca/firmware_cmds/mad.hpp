// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/mad_ifc.hpp>

namespace freehca::commands {

/// Passes a MAD to the agents of the firmware and returns their reply. `port` counts from 1.
/// `modifier` is a sum of layouts::mad_ifc_modifier. Request and Reply are layouts of
/// layouts::mad_ifc_mad_bytes bytes.
template <class Request = layouts::mad, class Reply = Request>
struct mad_ifc : family<opcode::mad_ifc, Request, Reply> {
  static_assert(Request::bytes == layouts::mad_ifc_mad_bytes &&
                Reply::bytes == layouts::mad_ifc_mad_bytes);
  static void aim(command_request& r, std::uint32_t port, std::uint32_t modifier) {
    using row = layouts::mad_ifc_input_modifier;
    r.input_modifier =
        layouts::load_be<std::uint32_t>(layouts::image<row>().set<&row::port>(port).data());
    r.opcode_modifier = static_cast<std::uint8_t>(modifier);
    r.lane = lane::management;
  }
};

/// Reads the restrictions of subnet management: the MADs that the firmware's own agent takes.
struct query_mad_demux : family<opcode::mad_demux, nothing, layouts::mad_demux, object_kind::none,
                                traits_of(layouts::mad_demux_modifier::query_restrictions)> {
  static void aim(command_request& r) {
    family::aim(r);
    r.input_modifier = layouts::mad_demux_subnet_management;
  }
};

}  // namespace freehca::commands
