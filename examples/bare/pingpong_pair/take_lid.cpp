// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "take_lid.hpp"

#include <freehca/bare/machine.hpp>
#include <freehca/firmware_cmds/mad.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

namespace {

using info = layouts::port_info;
using layouts::port_state;

/// Polls once. Fails when the device is gone or `end` has passed.
status turn(const device& hca, verbs& in, std::uint64_t end) {
  in.poll();
  if (!hca.up()) return transport_error::gone;
  if (machine::now() >= end) return transport_error::timeout;
  machine::pause();
  return {};
}

status ask(device& hca, verbs& in, unsigned port, port_query& to) {
  to.restart();
  to.start(hca.commands(), port);
  return finish(to, in);
}

status set(device& hca, verbs& in, unsigned port, const layouts::image<info>& settings) {
  using layouts::smp;
  firmware_command<commands::mad_ifc<smp>> c(std::uint32_t{port}, std::uint32_t{0});
  c.input.set<&smp::base_version>(layouts::mad_base_version)
      .set<&smp::mgmt_class>(layouts::mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(layouts::mad_method::set)
      .set<&smp::attribute_id>(static_cast<std::uint16_t>(layouts::smp_attribute::port_info))
      .set<&smp::attribute_modifier>(port)
      .set_bytes<&smp::data>(settings.data());
  hca.commands().submit(c);
  FREEHCA_TRY(finish(c, in));
  return c.output.get<&smp::status>() == layouts::mad_status::success
             ? status()
             : status(transport_error::bad_reply);
}

}  // namespace

status await_active(const device& hca, verbs& in, unsigned port, std::uint64_t limit) {
  const std::uint64_t end = clock::after(machine::now(), limit);
  while (!hca.port(port).active()) FREEHCA_TRY(turn(hca, in, end));
  return {};
}

status take_lid(device& hca, verbs& in, unsigned port, std::uint16_t lid, std::uint64_t limit) {
  const std::uint64_t end = clock::after(machine::now(), limit);
  port_query now;
  // No event reports that the link came up and waits for a subnet manager, so the state is polled.
  FREEHCA_TRY(ask(hca, in, port, now));
  while (now.attribute<info>().get<&info::state>() == port_state::down) {
    FREEHCA_TRY(turn(hca, in, end));
    FREEHCA_TRY(ask(hca, in, port, now));
  }
  // IBTA 1.3, 7.2.7: the port enters the states one after the other.
  for (const auto state : {port_state::armed, port_state::active}) {
    FREEHCA_TRY(ask(hca, in, port, now));
    auto settings = now.attribute<info>();
    settings.set<&info::lid>(lid).set<&info::master_sm_lid>(lid).set<&info::state>(state);
    settings.set<&info::physical_state>(layouts::port_physical_state::no_change);
    FREEHCA_TRY(set(hca, in, port, settings));
  }
  return await_active(hca, in, port, limit);
}

}  // namespace freehca::bare
