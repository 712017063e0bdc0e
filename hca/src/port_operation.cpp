// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/port_operation.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

#include "ethernet/port_limits.hpp"
#include "port_limits.hpp"

namespace freehca {

status port_operation::check() const {
  device& d = *device_;
  if (!d.up()) return driver_error::bad_state;
  FREEHCA_TRY(d.refused_.check(attribute_id::port, port_, d.capabilities().ports, 1));
  if (d.port(port_).link_layer == layouts::port_type::none) return driver_error::unsupported;
  const port_control& p = d.ports_.control(port_);
  if (p.changing) return driver_error::busy;
  return p.open == open_ ? status(driver_error::bad_state) : status();
}

void port_operation::start(device& adapter, unsigned port, bool open) {
  if (!startable()) return;
  device_ = &adapter;
  port_ = port;
  open_ = open;
  attempt_ = 0;
  if (!begin_checked(adapter.control_.reactor, check(), &advance)) return;
  adapter.ports_.control(port).changing = true;
  if (!open) return change();
  read();
}

void port_operation::read() {
  step_ = step::read;
  port_attributes& p = device_->ports_.attributes(port_);
  if (p.link_layer == layouts::port_type::ib) return part(query_).start(device_->commands(), port_);
  if (p.ethernet_mtu == 0) {
    p.ethernet_mtu = default_ethernet_mtu;
    p.sends_pause = p.obeys_pause = true;
  }
  device_->ports_.watch_ethernet();
  part(query_).start_ethernet(device_->commands(), port_, p.ethernet_mtu);
}

void port_operation::limit() {
  step_ = step::limit;
  const port_attributes& p = device_->port(port_);
  if (p.link_layer == layouts::port_type::ethernet) {
    part(change_).request = {};
    ethernet_limits::fill(change_.request, general_, port_, p.ethernet_mtu,
                          ethernet_limits::pause(p.sends_pause, p.sends_priority_pause),
                          ethernet_limits::pause(p.obeys_pause, p.obeys_priority_pause));
    return device_->commands().submit(change_);
  }
  part(set_).aim(std::uint32_t{port_});
  port_limits::fill(set_, *device_, port_, attempt_);
  device_->commands().submit(set_);
}

void port_operation::change() {
  port_control& p = device_->ports_.control(port_);
  step_ = step::change;
  part(change_).request = {};
  change_.request.opcode = open_ ? commands::init_port::code : commands::close_port::code;
  if (open_) commands::init_port::aim(change_.request, port_);
  else commands::close_port::aim(change_.request, port_);
  p.requested = open_;
  p.open = true;  // it may be open: from now on, or still
  change_.put_at_risk(p.at_risk);
  device_->commands().submit(change_);
}

void port_operation::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<port_operation&>(self);
  device_ports& ports = o.device_->ports_;
  port_control& p = ports.control(o.port_);
  if (o.step_ == step::change) {
    // If the command was not answered, the late answer settles the state of the port.
    if (p.at_risk.in_doubt()) return o.complete(outcome);
    p.open = outcome.ok() ? p.requested : !p.requested;
    if (outcome.ok()) ports.changed(o.port_);
  } else {
    const bool limits = o.step_ == step::limit;
    if (!limits && outcome.ok()) outcome = ports.take(o.port_, o.query_);
    const bool fewer = limits && o.device_->port(o.port_).link_layer == layouts::port_type::ib &&
                       port_limits::too_many_lanes(outcome, o.attempt_);
    if (fewer || outcome.ok()) outcome = o.stop_reason();
    if (outcome.ok()) {
      if (limits && !fewer) return o.change();
      if (fewer) ++o.attempt_;
      return o.limit();
    }
  }
  p.changing = false;
  o.complete(outcome);
}

}  // namespace freehca
