// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/port_operation.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

#include "port_limits.hpp"

namespace freehca {

status port_operation::check() const {
  device& d = *device_;
  if (!d.up()) return driver_error::bad_state;
  FREEHCA_TRY(d.refused_.check(attribute_id::port, port_, d.capabilities().ports, 1));
  if (d.port(port_).link_layer != layouts::port_type::ib) return driver_error::unsupported;
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
  if (const status s = check(); !s.ok()) return adapter.control_.reactor.refuse(*this, s);
  begin(&on_cancel, this);
  adapter.ports_.control(port).changing = true;
  adapter.control_.reactor.watch(*this);
  if (!open) return change();
  query_.restart();
  query_.then(&asked, this);
  query_.start(adapter.commands(), port);
}

void port_operation::limit() {
  set_.restart();
  set_.aim(std::uint32_t{port_});
  port_limits::fill(set_, *device_, port_, attempt_);
  set_.then(&limited, this);
  device_->commands().submit(set_);
}

void port_operation::change() {
  port_control& p = device_->ports_.control(port_);
  change_.restart();
  change_.request = {};
  change_.request.opcode = open_ ? commands::init_port::code : commands::close_port::code;
  if (open_) commands::init_port::aim(change_.request, port_);
  else commands::close_port::aim(change_.request, port_);
  p.requested = open_;
  p.open = true;  // it may be open: from now on, or still
  change_.put_at_risk(p.at_risk);
  change_.then(&changed, this);
  device_->commands().submit(change_);
}

/// Returns the stop reason of this operation if a command of it ended with driver_error::cancelled,
/// else `outcome`.
status port_operation::reported(status outcome) const {
  return outcome.is(driver_error::cancelled) && !stop_reason().ok()
             ? stop_reason().at(outcome.where())
             : outcome;
}

void port_operation::asked(operation&, void* self) noexcept {
  auto& o = *static_cast<port_operation*>(self);
  const status read = o.device_->ports_.take(o.port_, o.query_);
  if (!read.ok()) return o.finish(read);
  if (!o.stop_reason().ok()) return o.finish(o.stop_reason());
  o.limit();
}

void port_operation::limited(operation& op, void* self) noexcept {
  auto& o = *static_cast<port_operation*>(self);
  const bool fewer = port_limits::too_many_lanes(op.outcome(), o.attempt_);
  if (!op.outcome().ok() && !fewer) return o.finish(op.outcome());
  if (!o.stop_reason().ok()) return o.finish(o.stop_reason());
  if (!fewer) return o.change();
  ++o.attempt_;
  o.limit();
}

void port_operation::changed(operation& op, void* self) noexcept {
  auto& o = *static_cast<port_operation*>(self);
  port_control& p = o.device_->ports_.control(o.port_);
  // The late answer settles the state of the port.
  if (p.at_risk.in_doubt()) return o.complete(o.reported(op.outcome()));
  o.settle(op.outcome());
  o.finish(op.outcome());
}

/// Called when INIT_PORT or CLOSE_PORT was answered, or ended without being posted.
void port_operation::settle(status outcome) {
  port_control& p = device_->ports_.control(port_);
  p.open = outcome.ok() ? p.requested : !p.requested;
  if (outcome.ok()) device_->ports_.changed(port_);
}

/// Leaves the port as it is. If the port is in doubt, the late answer settles its state.
void port_operation::detach() {
  port_control& p = device_->ports_.control(port_);
  const bool changing = change_.under_way();
  change_.drop();
  if (p.at_risk.in_doubt()) return;
  if (changing) settle(change_.outcome());
  p.changing = false;
}

void port_operation::finish(status outcome) {
  device_->ports_.control(port_).changing = false;
  complete(reported(outcome));
}

void port_operation::on_cancel(operation& op, void* self) noexcept {
  auto& o = *static_cast<port_operation*>(self);
  if (op.dropped()) return o.detach();
  o.query_.cancel();
  o.set_.cancel();
  o.change_.cancel();
}

}  // namespace freehca
