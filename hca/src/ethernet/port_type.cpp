// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/port_type.hpp>

#include <freehca/layouts/smp.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>
#include <freehca/hca/port_operation.hpp>

#include "port_limits.hpp"

namespace freehca {

void port_type_query::start(device& adapter, unsigned port) {
  if (!startable()) return;
  status s = adapter.up() ? status() : status(driver_error::bad_state);
  if (s.ok()) s = adapter.refused_.check(attribute_id::port, port, adapter.capabilities().ports, 1);
  if (!s.ok()) return adapter.control_.reactor.refuse(*this, s);
  begin_parts(&answered);
  adapter.control_.reactor.watch(*this);
  part(sense_).aim(std::uint32_t{port});
  adapter.commands().submit(sense_);
}

void port_type_query::answered(stepper& self, status outcome) noexcept {
  static_cast<port_type_query&>(self).complete(outcome);
}

layouts::port_type port_type_query::type() const {
  using l = layouts::sense_port;
  std::byte bytes[l::bytes];
  layouts::store_be(bytes, sense_.output_immediate());
  return layouts::image<l>::from_bytes(bytes).get<&l::port_type>();
}

status set_port_type::check() const {
  using layouts::port_type;
  using l = layouts::query_port;
  device& d = *device_;
  refused_attribute& note = d.refused_;
  if (!d.up()) return driver_error::bad_state;
  FREEHCA_TRY(note.check(attribute_id::port, port_, d.capabilities().ports, 1));
  const port_type can = d.capabilities().raw_port[port_ - 1].get<&l::supported_port_type>();
  const bool one_type = to_ == port_type::ib || to_ == port_type::ethernet;
  if (!one_type || (can != port_type::vpi && can != to_))
    return note.refuse(attribute_id::port_type, static_cast<unsigned>(to_),
                       static_cast<unsigned>(can));
  const port_control& p = d.ports_.control(port_);
  if (p.changing) return driver_error::busy;
  // A change to InfiniBand that did not come to its end may be repeated.
  const port_attributes& a = d.port(port_);
  const bool is_complete = a.link_layer == to_ && (to_ != port_type::ib || a.guid != 0);
  return p.open || is_complete ? status(driver_error::bad_state) : status();
}

void set_port_type::start(device& adapter, unsigned port, layouts::port_type to) {
  if (!startable()) return;
  device_ = &adapter;
  port_ = port;
  to_ = to;
  step_ = step::set;
  if (const status s = check(); !s.ok()) return adapter.control_.reactor.refuse(*this, s);
  begin_parts(&advance);
  adapter.ports_.control(port).changing = true;
  adapter.control_.reactor.watch(*this);
  send();
}

void set_port_type::send() {
  channel& commands = device_->commands();
  switch (step_) {
    case step::set: {
      part(change_).request = {};
      command_request& r = change_.request;
      if (to_ == layouts::port_type::ethernet) {
        ethernet_limits::fill(r, general_, port_, default_ethernet_mtu,
                              ethernet_limits::pause(true, 0), ethernet_limits::pause(true, 0));
      } else {
        // The port has an agent of communication management (Linux 6.1 hw/mlx4/main.c
        // mlx4_ib_query_port). port_operation sets the limits.
        using l = layouts::set_port_ib;
        infiniband_ = {};
        infiniband_.set<&l::capability_mask>(layouts::port_capability::communication_management);
        r.opcode = commands::set_port_ib::code;
        commands::set_port_ib::aim(r, port_);
        r.input = command_request::form::mailbox;
        r.input_data = infiniband_.data();
        r.input_bytes = l::bytes;
      }
      return commands.submit(change_);
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

void set_port_type::advance(stepper& self, status outcome) noexcept {
  using layouts::port_type;
  auto& o = static_cast<set_port_type&>(self);
  device_ports& ports = o.device_->ports_;
  port_attributes& p = ports.attributes(o.port_);
  if (outcome.ok()) {
    const bool ethernet = o.to_ == port_type::ethernet;
    auto next = step::describe;
    switch (o.step_) {
      case step::set: {
        // Its other attributes, and the entries of its tables, are gone.
        auto& suggested = o.device_->capabilities_.raw_port[o.port_ - 1];
        suggested.set<&layouts::query_port::suggested_type>(ethernet);
        p = {};
        ports.describe(o.port_, o.device_->capabilities_);
        ports.control(o.port_).addresses.forget();
        if (ethernet) {
          p.ethernet_mtu = default_ethernet_mtu;
          p.sends_pause = p.obeys_pause = true;
          ports.watch_ethernet();
        }
        break;
      }
      case step::describe: {
        layouts::image<layouts::query_port> answer = o.describe_.output;
        answer.set<&layouts::query_port::suggested_type>(ethernet);
        o.device_->capabilities_.raw_port[o.port_ - 1] = answer;
        ports.describe(o.port_, o.device_->capabilities_);
        next = ethernet ? step::read : step::guid;
        break;
      }
      case step::guid:
        ports.set_guid(o.port_, o.guid_.guid(0));
        next = step::read;
        break;
      case step::read:
        outcome = ports.take(o.port_, o.read_);
    }
    if (o.step_ != step::read) {
      outcome = o.stop_reason();
      if (outcome.ok()) {
        o.step_ = next;
        return o.send();
      }
    }
  }
  ports.control(o.port_).changing = false;
  // An event of the old type may have begun to read the port, or a command above failed.
  if (p.link_layer == o.to_) ports.changed(o.port_);
  o.complete(outcome);
}

}  // namespace freehca
