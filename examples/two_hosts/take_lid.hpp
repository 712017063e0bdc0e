// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/blocking/session.hpp>
#include <freehca/firmware_cmds/mad.hpp>
#include <freehca/layouts/set_port_info.hpp>

/// For a cable from host to host without a subnet manager: sends the management datagrams of a
/// subnet manager to the agent of port 1, so that the port gets the LID and becomes active. Waits
/// for the other end of the cable.
inline freehca::status take_lid(freehca::blocking::session& session, std::uint16_t lid) {
  using namespace freehca;
  using info = layouts::port_info;
  using layouts::smp;
  device& hca = session.adapter().hardware();
  port_query now;
  const auto ask = [&] {
    now.restart();
    now.start(hca.commands(), 1);
    return session.wait(now);
  };
  // No event reports that the link came up and waits for a subnet manager, so the state is polled.
  FREEHCA_TRY(ask());
  while (now.attribute<info>().get<&info::state>() == layouts::port_state::down) {
    session.turn();
    FREEHCA_TRY(ask());
  }
  for (const auto state : {layouts::port_state::armed, layouts::port_state::active}) {
    FREEHCA_TRY(ask());
    auto settings = now.attribute<info>();
    settings.set<&info::lid>(lid).set<&info::master_sm_lid>(lid).set<&info::state>(state);
    settings.set<&info::physical_state>(layouts::port_physical_state::no_change);
    firmware_command<commands::mad_ifc<smp>> set(std::uint32_t{1}, std::uint32_t{0});
    set.input = layouts::set_port_info(settings, 1);
    hca.commands().submit(set);
    FREEHCA_TRY(session.wait(set));
    if (set.output.get<&smp::status>() != layouts::mad_status::success)
      return transport_error::bad_reply;
  }
  while (hca.up() && !hca.port(1).active()) session.turn();
  return {};
}
