// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// VIRT_PORT_MAP: by which port that leaves which queue pairs send by port 1, and by port 2. Linux
// maps both to one when a bond's other port has failed (mlx4/en_netdev.c mlx4_en_netdev_event).
#include <freehca/layouts/config_dev.hpp>

#include "command/command_checks.hpp"
#include "link/packet_receiver.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

const path& ports::physical(const path& way, std::optional<path>& other) const {
  const auto& map = a_.profile.physical_ports;
  if (way.fixed_port || way.port < 1 || way.port > map.size()) return way;
  if (map[way.port - 1] == way.port) return way;
  other = way;
  other->port = map[way.port - 1];
  return *other;
}

command_status ports::virt_port_map(command& c) {
  using l = layouts::virt_port_map;
  if (static_cast<virt_port_map_modifier>(c.opcode_modifier) == virt_port_map_modifier::set)
    return set_port_map(c);
  image<l> out;
  out.set<&l::v_port1>(a_.profile.physical_ports[0]).set<&l::v_port2>(a_.profile.physical_ports[1]);
  return command_checks(a_.rules).answer(c, out).status();
}

command_status ports::set_port_map(command& c) {
  using l = layouts::virt_port_map;
  command_checks is(a_.rules);
  image<l> in;
  is.at_most(rule::input_modifier, "input modifier", c.input_modifier, 0).read(c, in);
  if (is.refused()) return is.status();
  const std::uint64_t first = in.get<&l::v_port1>(), second = in.get<&l::v_port2>();
  is.port(at(first) != nullptr, "v_port1", first, a_.how.ports)
      .port(at(second) != nullptr, "v_port2", second, a_.how.ports);
  if (is.refused()) return is.status();
  const std::array to{static_cast<unsigned>(first), static_cast<unsigned>(second)};
  const bool as_they_are = first == 1 && second == 2;
  is.must(as_they_are || (ethernet(1) != nullptr && ethernet(2) != nullptr), rule::known_operation,
          command_status::bad_operation, "v_port1 %u, v_port2 %u, and port %u is InfiniBand", to[0],
          to[1], ethernet(1) == nullptr ? 1u : 2u);
  if (!is.refused()) map_ports(to);
  return is.status();
}

void ports::map_ports(std::array<unsigned, 2> to) {
  if (to == a_.profile.physical_ports) return;
  a_.profile.physical_ports = to;
  for (unsigned number = 1; number <= a_.how.ports; ++number) a_.above_ports->port_has_room(number);
}

}  // namespace freehca::model
