// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// VPI ports: of which kind a port is, how SET_PORT changes it, and what the cable has to do with
// it.
#include <freehca/layouts/query_port.hpp>

#include "command/command_checks.hpp"
#include "link/packet_receiver.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/far_end.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

void ports::check_type(command_checks& is, unsigned number, const port* to,
                       const char* is_of) const {
  is.must(to != nullptr, rule::known_operation, command_status::bad_operation, "port %u is %s",
          number, is_of);
  if (is.refused() || to == at(number)) return;
  is.that(!at(number)->is_open(), rule::port_type, command_status::bad_resource_state,
          "port %u is open, and of another type", number)
      .that(!a_.above_ports->bound_to_link(number), rule::port_type,
            command_status::bad_resource_state,
            "port %u is of another type, and queue pairs are bound to its link", number);
}

void ports::become(unsigned number, port& to) {
  place& here = ports_[number - 1];
  if (here.now == &to) return;
  port& before = *here.now;
  before.close();
  here.now = &to;
  a_.layers.set(number, to.layer());
  before.clear();
  modes_[number - 1].clear();
  show_ports();
  // Ports are mapped to those of their own kind.
  map_ports({1, 2});
  a_.above_ports->link_replaced(number);
}

void ports::clear(unsigned number) {
  place& here = ports_[number - 1];
  if (here.infiniband != nullptr) here.infiniband->clear();
  if (here.ethernet != nullptr) here.ethernet->clear();
  if (here.sensor == nullptr) return;
  here.sensor->clear();
  const link_layer first = a_.how.link[number - 1];
  here.now = first == link_layer::ethernet ? static_cast<port*>(here.ethernet.get())
                                           : here.infiniband.get();
  a_.layers.set(number, first);
}

void ports::far_end_changed(unsigned number) {
  const place& here = ports_[number - 1];
  here.ethernet->face_infiniband(here.sensor->speaks_infiniband());
}

void ports::plug(unsigned number, bool plugged) {
  if (at(number) == nullptr) return;
  const place& here = ports_[number - 1];
  if (here.infiniband != nullptr) here.infiniband->plug(plugged);
  if (here.ethernet != nullptr) here.ethernet->plug(plugged);
  if (here.sensor == nullptr) return;
  ports_[number - 1].plugged = plugged;
  if (!plugged) here.sensor->clear();
}

void ports::arrived(unsigned number, std::span<const std::byte> bytes) {
  port* p = at(number);
  if (p == nullptr) return;
  const place& here = ports_[number - 1];
  if (here.sensor != nullptr && (!here.plugged || !here.sensor->passes(bytes, p->layer()))) return;
  p->arrived(bytes);
}

bool ports::set_faults(unsigned number, const link_faults& how) {
  if (at(number) == nullptr) return false;
  const place& here = ports_[number - 1];
  const bool of_infiniband = here.infiniband != nullptr && here.infiniband->set_faults(how);
  const bool of_ethernet = here.ethernet != nullptr && here.ethernet->set_faults(how);
  return of_infiniband || of_ethernet;
}

/// A port without link senses what its far end speaks, whatever it is itself: behind a cable that
/// is what was heard, and without one the built-in subnet manager speaks InfiniBand.
std::optional<link_layer> ports::sensed(unsigned number) const {
  const place& here = ports_[number - 1];
  if (here.sensor == nullptr || here.now->link_up())
    return here.now->has_peer() ? std::optional(here.now->layer()) : std::nullopt;
  if (a_.how.cable[number - 1]) return here.sensor->heard();
  return here.infiniband->has_peer() ? std::optional(link_layer::infiniband) : std::nullopt;
}

command_status ports::sense_port(command& c) {
  command_checks is(a_.rules);
  if (named(is, c.input_modifier) == nullptr) return is.status();
  image<layouts::sense_port> out;
  if (const auto kind = sensed(c.input_modifier); kind)
    out.set<&layouts::sense_port::port_type>(*kind == link_layer::ethernet ? port_type::ethernet
                                                                           : port_type::ib);
  c.output_parameter = load_be<std::uint64_t>(out.data());
  return command_status::ok;
}

}  // namespace freehca::model
