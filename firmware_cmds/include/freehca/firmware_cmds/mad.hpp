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
struct mad_ifc {
  static_assert(Request::bytes == layouts::mad_ifc_mad_bytes &&
                Reply::bytes == layouts::mad_ifc_mad_bytes);
  static constexpr auto code = layouts::opcode::mad_ifc;
  using input = Request;
  using output = Reply;
  static void aim(command_request& r, std::uint32_t port, std::uint32_t modifier) {
    using row = layouts::mad_ifc_input_modifier;
    r.input_modifier =
        layouts::load_be<std::uint32_t>(layouts::image<row>().set<&row::port>(port).data());
    r.opcode_modifier = static_cast<std::uint8_t>(modifier);
    r.lane = lane::management;
  }
};

/// Like mad_ifc, for a MAD that came over the wire. `extra` describes how the MAD arrived; the
/// agents need this for traps.
template <class Request = layouts::mad, class Reply = Request>
struct mad_ifc_received {
  static_assert(Request::bytes == layouts::mad_ifc_mad_bytes &&
                Reply::bytes == layouts::mad_ifc_mad_bytes);
  static constexpr auto code = layouts::opcode::mad_ifc;
  using input = joined<Request, layouts::mad_ifc_extended_info>;
  using output = Reply;
  static void aim(command_request& r, std::uint32_t port, std::uint32_t modifier,
                  std::uint32_t source_lid) {
    using row = layouts::mad_ifc_input_modifier;
    r.input_modifier = layouts::load_be<std::uint32_t>(
        layouts::image<row>().set<&row::port>(port).set<&row::slid>(source_lid).data());
    r.opcode_modifier = static_cast<std::uint8_t>(
        modifier | static_cast<unsigned>(layouts::mad_ifc_modifier::extended_info));
    r.lane = lane::management;
  }
};

/// Reads the restrictions of subnet management: the MADs that the firmware's own agent takes.
struct query_mad_demux {
  static constexpr auto code = layouts::opcode::mad_demux;
  using input = nothing;
  using output = layouts::mad_demux;
  static void aim(command_request& r) {
    r.input_modifier = layouts::mad_demux_subnet_management;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::mad_demux_modifier::query_restrictions);
  }
};

/// Sets the subnet management MADs that the firmware's own agent takes. The input is the output of
/// query_mad_demux (Linux 6.1 fw.c mlx4_config_mad_demux).
struct config_mad_demux {
  static constexpr auto code = layouts::opcode::mad_demux;
  using input = layouts::mad_demux;
  using output = nothing;
  static void aim(command_request& r) {
    r.input_modifier = layouts::mad_demux_subnet_management;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::mad_demux_modifier::config);
  }
};

/// Makes the eight QPs from `base_qpn` on the special QPs. With `base_qpn` 0 there are no special
/// QPs.
struct conf_special_qp {
  static constexpr auto code = layouts::opcode::conf_special_qp;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t base_qpn) { r.input_modifier = base_qpn; }
};

}  // namespace freehca::commands
