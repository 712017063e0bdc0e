// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/port_type.hpp>

#include <freehca/firmware_cmds/port.hpp>
#include <freehca/layouts/smp.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>
#include <freehca/hca/port_operation.hpp>

#include "port_limits.hpp"

namespace freehca {

void port_type_query::start(device& adapter, unsigned port) {
  if (!startable()) return;
  const status s = adapter.check_port(port);
  if (!s.ok()) return adapter.control_.reactor.refuse(*this, s);
  aim(std::uint32_t{port});
  adapter.commands().submit(*this);
}

layouts::port_type port_type_query::type() const {
  using l = layouts::sense_port;
  std::byte bytes[l::bytes];
  layouts::store_be(bytes, output_immediate());
  return layouts::image<l>::from_bytes(bytes).get<&l::port_type>();
}

status set_port_type::check() const {
  using layouts::port_type;
  using l = layouts::query_port;
  device& d = *device_;
  refused_attribute& note = d.refused_;
  FREEHCA_TRY(d.check_port(port_));
  const port_type can = d.capabilities().raw_port[port_ - 1].get<&l::supported_port_type>();
  const bool one_type = to_ == port_type::ib || to_ == port_type::ethernet;
  if (!one_type || (can != port_type::vpi && can != to_))
    return note.refuse(attribute_id::port_type, static_cast<unsigned>(to_),
                       static_cast<unsigned>(can));
  const bool all = close_ == ports_to_close::all;
  const port_control& p = d.ports_.control(port_);
  if ((all ? d.ports_.changing() : p.changing) || d.ports_.has_users(port_))
    return driver_error::busy;
  // A change to InfiniBand that did not come to its end may be repeated.
  const port_attributes& a = d.port(port_);
  const bool is_complete = a.link_layer == to_ && (to_ != port_type::ib || a.guid != 0);
  return (p.open && !all) || is_complete ? status(driver_error::bad_state) : status();
}

void set_port_type::start(device& adapter, unsigned port, layouts::port_type to,
                          ports_to_close closed) {
  if (!startable()) return;
  aim(adapter, port);
  to_ = to;
  close_ = closed;
  closing_ = 0;
  step_ = step::close;
  if (!begin(check(), &advance)) return;
  hold_ports_to_close(true);
  send_step();
}

/// Keeps other operations from the ports to close, or gives back those that are not in doubt.
void set_port_type::hold_ports_to_close(bool hold) {
  if (close_ == ports_to_close::none) return;
  for (unsigned port = 1; port <= device_->capabilities().ports; ++port) {
    port_control& p = device_->ports_.control(port);
    if (port != port_) p.changing = hold || p.at_risk.in_doubt();
  }
}

void set_port_type::send_step() {
  channel& commands = device_->commands();
  switch (step_) {
    case step::close:
      while (close_ == ports_to_close::all && ++closing_ <= device_->capabilities().ports) {
        port_control& p = device_->ports_.control(closing_);
        if (!p.open) continue;
        command_request& r = next_request();
        r.opcode = commands::close_port::code;
        commands::close_port::aim(r, closing_);
        p.requested = false;
        change_.put_at_risk(p.at_risk);
        return send();
      }
      step_ = step::set;
      [[fallthrough]];
    case step::set: {
      command_request& r = next_request();
      if (to_ == layouts::port_type::ethernet) {
        ethernet_limits::fill(r, general_, port_, default_ethernet_mtu,
                              ethernet_limits::pause(true, 0), ethernet_limits::pause(true, 0));
        return send();
      }
      // The port has an agent of communication management (Linux 6.1 hw/mlx4/main.c
      // mlx4_ib_query_port). port_operation sets the limits.
      using l = layouts::set_port_ib;
      infiniband_ = {};
      infiniband_.set<&l::capability_mask>(layouts::port_capability::communication_management);
      r.opcode = commands::set_port_ib::code;
      commands::set_port_ib::aim(r, port_);
      return send_mailbox(infiniband_.data(), l::bytes);
    }
    case step::describe:
      part(describe_).aim(std::uint32_t{port_});
      return commands.submit(describe_);
    case step::guid:
      return part(guid_).start(commands, port_, 0);
    case step::read:
      if (to_ == layouts::port_type::ib) return part(read_).start(commands, port_);
      part(read_).start_ethernet(commands, port_, default_ethernet_mtu);
  }
}

void set_port_type::port_closed(status outcome) {
  port_control& p = device_->ports_.control(closing_);
  // If the command was not answered, the late answer settles the state of the port.
  const bool in_doubt = p.at_risk.in_doubt();
  if (!in_doubt) p.open = !outcome.ok();
  if (outcome.ok()) {
    device_->ports_.changed(closing_);
    outcome = stop_reason();
    if (outcome.ok()) return send_step();
  }
  hold_ports_to_close(false);
  if (closing_ == port_ && in_doubt) return complete(outcome);
  end(outcome);
}

void set_port_type::advance(stepper& self, status outcome) noexcept {
  using layouts::port_type;
  auto& o = static_cast<set_port_type&>(self);
  if (o.step_ == step::close) return o.port_closed(outcome);
  device_ports& ports = o.device_->ports_;
  port_attributes& p = ports.attributes(o.port_);
  if (outcome.ok()) {
    const bool ethernet = o.to_ == port_type::ethernet;
    auto& known = o.device_->capabilities_.raw_port[o.port_ - 1];
    auto next = step::read;
    switch (o.step_) {
      case step::close:
        break;
      case step::set:
        // Its other attributes, and the entries of its tables, are gone.
        p = {};
        o.control().addresses.forget();
        if (ethernet) {
          p.ethernet_mtu = default_ethernet_mtu;
          p.sends_pause = p.obeys_pause = true;
          ports.watch_ethernet();
        }
        next = step::describe;
        break;
      case step::describe:
        known = o.describe_.output;
        if (!ethernet) next = step::guid;
        break;
      case step::guid:
        ports.set_guid(o.port_, o.guid_.guid(0));
        break;
      case step::read:
        outcome = ports.take(o.port_, o.read_);
    }
    if (o.step_ <= step::describe) {
      known.set<&layouts::query_port::suggested_type>(ethernet);
      ports.describe(o.port_, o.device_->capabilities_);
    }
    if (o.step_ != step::read) {
      outcome = o.stop_reason();
      if (outcome.ok()) {
        o.step_ = next;
        return o.send_step();
      }
    }
  }
  // An event of the old type may have begun to read the port, or a command above failed.
  if (p.link_layer == o.to_) ports.changed(o.port_);
  o.hold_ports_to_close(false);
  o.end(outcome);
}

}  // namespace freehca
