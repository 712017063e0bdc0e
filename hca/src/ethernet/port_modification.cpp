// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/port_modification.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

namespace freehca {

status device::check_port(unsigned port) {
  if (!up()) return driver_error::bad_state;
  return refused_.check(attribute_id::port, port, capabilities_.ports, 1);
}

status device::check_ethernet(unsigned port) {
  FREEHCA_TRY(check_port(port));
  const bool ethernet = ports_.attributes(port).link_layer == layouts::port_type::ethernet;
  return ethernet ? status() : status(driver_error::unsupported);
}

port_control& port_modification::control() const {
  return device_->ports_.control(port_);
}

bool port_modification::begin(status checked, advancer next) {
  if (checked.ok() && control().changing) checked = driver_error::busy;
  if (!begin_checked(device_->control_.reactor, checked, next)) return false;
  control().changing = true;
  return true;
}

command_request& port_modification::next_request() {
  return part(change_).request = {};
}

void port_modification::send_mailbox(const std::byte* input, std::size_t bytes) {
  change_.request.input = command_request::form::mailbox;
  change_.request.input_data = input;
  change_.request.input_bytes = static_cast<std::uint16_t>(bytes);
  send();
}

void port_modification::send() {
  device_->commands().submit(change_);
}

void port_modification::end(status outcome) {
  control().changing = false;
  complete(outcome);
}

}  // namespace freehca
