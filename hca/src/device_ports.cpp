// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_ports.hpp>

namespace freehca {

namespace {

layouts::port_type link_layer_in(const layouts::image<layouts::query_port>& answer) {
  using l = layouts::query_port;
  const layouts::port_type can = answer.get<&l::supported_port_type>();
  if (can != layouts::port_type::vpi) return can;
  return answer.get<&l::suggested_type>() ? layouts::port_type::ethernet : layouts::port_type::ib;
}

}  // namespace

void port_control::settled(lease&, const settlement& end, void* port) noexcept {
  auto& p = *static_cast<port_control*>(port);
  p.changing = false;
  if (!end.by_reset) p.open = end.answer.ok() ? p.wanted : !p.wanted;
}

bool device_ports::changing() const {
  for (const port_control& p : controls_)
    if (p.changing) return true;
  return false;
}

void device_ports::begin(unsigned count) {
  count_ = count;
  for (port_attributes& p : attributes_) p = {};
  known_ = partners_ = 0;
}

void device_ports::describe(unsigned port, const layouts::image<layouts::query_port>& answer) {
  using l = layouts::query_port;
  port_attributes& p = attributes_[port - 1];
  p.link_layer = link_layer_in(answer);
  p.gid_table_length = 1u << answer.get<&l::log_max_gid>();
  p.pkey_table_length = 1u << answer.get<&l::log_max_pkey>();
}

unsigned device_ports::infiniband_from(unsigned port) const {
  for (; port <= count_; ++port)
    if (attributes(port).link_layer == layouts::port_type::ib) return port;
  return 0;
}

operation& device_ports::read(channel& commands, unsigned port) {
  // What changes from here on may be too late for this answer.
  stale_ &= ~(1u << port);
  query_.restart();
  query_.start(commands, port);
  return query_;
}

status device_ports::take(unsigned port, const port_query& read) {
  if (!read.outcome().ok()) return read.outcome();
  read.read_into(attributes_[port - 1]);
  known_ |= 1u << port;
  if (attributes_[port - 1].has_partner()) partners_ |= 1u << port;
  return {};
}

void device_ports::read_next_changed(channel& commands) {
  if (reading_ != 0) return;
  for (unsigned port = 1; port <= count_; ++port) {
    if ((stale_ >> port & 1) == 0) continue;
    reading_ = port;
    read(commands, port);
    return;
  }
}

unsigned device_ports::take_changed() {
  if (reading_ == 0 || !query_.done()) return 0;
  const unsigned port = reading_;
  reading_ = 0;
  return take(port).ok() ? port : 0;
}

void device_ports::limit(operation& one) {
  if (one.deadline() == operation::no_deadline) return;
  limited_.push_back(one);
  deadlines_.add(one);
}

void device_ports::forget() {
  for (port_control& p : controls_) p.open = false;
  reading_ = 0;
  stale_ = 0;
}

}  // namespace freehca
