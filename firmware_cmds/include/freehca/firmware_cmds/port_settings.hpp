// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Commands that the driver does not send yet: MADs that came over the wire.
#pragma once

#include <freehca/firmware_cmds/mad.hpp>
#include <freehca/firmware_cmds/port.hpp>

namespace freehca {

/// As the `input` of a family: a structure First, followed by a structure Second, which is the
/// member `extra`.
template <class First, class Second>
struct joined {};

namespace detail {
template <class First, class Second>
struct command_input<joined<First, Second>> {
  static constexpr auto form = command_request::form::mailbox;
  static constexpr std::size_t bytes = First::bytes + Second::bytes;
  layouts::image<First> input;
  layouts::image<Second> extra;
  static_assert(sizeof input == First::bytes);  // `extra` follows without a gap
};
}  // namespace detail

namespace commands {

/// Like mad_ifc, for a MAD that came over the wire. `extra` describes how the MAD arrived; the
/// agents need this for traps.
template <class Request = layouts::mad, class Reply = Request>
struct mad_ifc_received
    : family<opcode::mad_ifc, joined<Request, layouts::mad_ifc_extended_info>, Reply> {
  static void aim(command_request& r, std::uint32_t port, std::uint32_t modifier,
                  std::uint32_t source_lid) {
    using row = layouts::mad_ifc_input_modifier;
    mad_ifc<Request, Reply>::aim(
        r, port, modifier | static_cast<unsigned>(layouts::mad_ifc_modifier::extended_info));
    r.input_modifier |=
        layouts::load_be<std::uint32_t>(layouts::image<row>().set<&row::slid>(source_lid).data());
  }
};

/// Sets the subnet management MADs that the firmware's own agent takes. The input is the output of
/// query_mad_demux (Linux 6.1 fw.c mlx4_config_mad_demux).
struct config_mad_demux : family<opcode::mad_demux, layouts::mad_demux, nothing, object_kind::none,
                                 traits_of(layouts::mad_demux_modifier::config)> {
  static void aim(command_request& r) {
    family::aim(r);
    r.input_modifier = layouts::mad_demux_subnet_management;
  }
};

}  // namespace commands
}  // namespace freehca
