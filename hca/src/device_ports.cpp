// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_ports.hpp>

namespace freehca {

layouts::port_type capabilities::link_layer(unsigned port) const {
  using l = layouts::query_port;
  const layouts::image<l>& answer = raw_port[port - 1];
  const layouts::port_type can = answer.get<&l::supported_port_type>();
  if (can != layouts::port_type::vpi) return can;
  return answer.get<&l::suggested_type>() ? layouts::port_type::ethernet : layouts::port_type::ib;
}

void port_control::settled(lease&, const settlement& end, void* port) noexcept {
  auto& p = *static_cast<port_control*>(port);
  p.changing = false;
  if (!end.by_reset) p.open = end.answer.ok() ? p.requested : !p.requested;
}

void port_control::addresses_settled(lease&, const settlement&, void* port) noexcept {
  static_cast<port_control*>(port)->changing = false;
}

bool device_ports::changing() const {
  for (const port_control& p : controls_)
    if (p.changing) return true;
  return false;
}

void device_ports::begin(unsigned count) {
  count_ = count;
  // Fewer bytes of code than assignments.
  __builtin_memset(static_cast<void*>(attributes_), 0, sizeof attributes_);
  for (port_attributes& p : attributes_) p.state = layouts::port_state::down;
  for (port_control& p : controls_) p.addresses.forget();
  // The owners have released all objects, but for those of an owner that left before.
  __builtin_memset(static_cast<void*>(users_), 0, sizeof users_);
  known_ = partners_ = stale_ = 0;
}

void device_ports::describe(unsigned port, const capabilities& can) {
  using l = layouts::query_port;
  const layouts::image<l>& answer = can.raw_port[port - 1];
  port_attributes& p = attributes_[port - 1];
  p.link_layer = can.link_layer(port);
  p.gid_table_length = 1u << answer.get<&l::log_max_gid>();
  p.pkey_table_length = 1u << answer.get<&l::log_max_pkey>();
  p.mac = answer.get<&l::mac>();
}

unsigned device_ports::infiniband_from(unsigned port) const {
  for (; port <= count_; ++port)
    if (is_infiniband(port)) return port;
  return 0;
}

operation& device_ports::read(channel& commands, unsigned port) {
  // A change from now on may come too late for this answer.
  stale_ &= ~(1u << port);
  query_.restart();
  if (is_infiniband(port)) query_.start(commands, port);
  else start_ethernet_(*this, commands, port);
  return query_;
}

status device_ports::take(unsigned port, const port_query& read) {
  if (!read.outcome().ok()) return read.outcome();
  read.read_into(attributes_[port - 1]);
  known_ |= 1u << port;
  if (attributes_[port - 1].has_partner()) partners_ |= 1u << port;
  return {};
}

void device_ports::read_next_changed(channel& commands, std::uint64_t now) {
  if (reading_ != 0 || now < retry_at_) return;
  for (unsigned port = 1; port <= count_; ++port) {
    if ((stale_ >> port & 1) == 0) continue;
    reading_ = port;
    read(commands, port);
    return;
  }
}

unsigned device_ports::take_changed(std::uint64_t now) {
  if (reading_ == 0 || !query_.done()) return 0;
  const unsigned port = reading_;
  reading_ = 0;
  retry_at_ = 0;
  if (take(port).ok()) return port;
  read_later(port, now);
  return 0;
}

void device_ports::forget() {
  for (port_control& p : controls_) {
    p.open = false;
    p.addresses.forget();
  }
  reading_ = 0;
  stale_ = 0;
  retry_at_ = 0;
}

}  // namespace freehca
