// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The addresses of Ethernet ports. A program that never calls open_ethernet() is not linked with
// this, nor with the functions that write paths of RoCE.
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

status opening::describe_ethernet(adapter& hca, opening& to) {
  constexpr unsigned most_priority = 7;
  constexpr std::uint16_t only_pkey = 0xffff;  // docs/hardware-roce.md
  const connection_options& how = to.how_;
  const auto& port = hca.ethernet_ports_[how.port - 1];
  const device& d = hca.hardware();
  refused_attribute& note = hca.objects().refused();
  // After a teardown the port is closed, and its tables are empty.
  if (!d.port_open(how.port)) return driver_error::bad_state;
  FREEHCA_TRY(note.check(attribute_id::priority, how.sl, most_priority));
  FREEHCA_TRY(note.check(attribute_id::pkey_index, how.pkey_index, 0));
  if (how.address >= port.address_entries)
    return note.refuse(attribute_id::sgid_index, how.address, port.address_entries);
  const unsigned index = 2 * how.address + (how.version == roce_version::v2);
  to.route_ = roce_path{.port = how.port, .sgid_index = static_cast<std::uint8_t>(index)};
  peer& self = to.result_value.self;
  self.type = d.addresses(how.port).gid(index);
  if (self.type == gid_type::none) return driver_error::unsupported;
  self.pkey = only_pkey;
  self.gid = port.addresses[how.address];
  self.mac = port.mac;
  self.vlan = how.vlan;
  return {};
}

void opening_port::start(adapter& hca, unsigned port, const ethernet_options& options) {
  constexpr unsigned most = ethernet_options::most_addresses;
  if (!startable()) return;
  device& d = hca.hardware();
  if (!hca.up()) return refuse(hca, driver_error::bad_state);
  const unsigned named = options.address_entries;
  if (const status s = hca.verbs_.refused().check(attribute_id::gid_entries, named, most); !s.ok())
    return refuse(hca, s);
  hca.ethernet_ = &opening::describe_ethernet;
  port_ = port;
  written_ = false;
  mac_ = options.mac;
  // set_port_addresses refuses any other port.
  if (mac_ == 0 && port - 1 < most_ports) mac_ = d.port(port).mac;
  const bool v2 = d.capabilities().has(layouts::bmme_flag::roce_v1_v2);
  count_ = named != 0 ? named : 1;
  for (unsigned i = 0; i < count_; ++i) {
    const gid address = named != 0 ? options.addresses[i] : gid_of_mac(mac_);
    gids_[2 * i] = {address, roce_version::v1};
    gids_[2 * i + 1] = {v2 ? address : gid{}, roce_version::v2};
  }
  begin_in(hca, &advance);
  part(tables_).start(d, port, {&mac_, 1, options.vlans, options.vlan_entries, gids_, 2 * count_});
}

void opening_port::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<opening_port&>(s);
  if (outcome.ok() && !self.written_) {
    self.written_ = true;
    device& d = self.owner().hardware();
    auto& to = self.owner().ethernet_ports_[self.port_ - 1];
    to.mac = self.mac_;
    to.address_entries = self.count_;
    for (unsigned i = 0; i < self.count_; ++i) to.addresses[i] = self.gids_[2 * i].address;
    outcome = self.stop_reason();
    if (outcome.ok() && !d.port_open(self.port_)) {
      self.part(self.open_).open(d, self.port_);
      return;
    }
  }
  self.complete(outcome);
}

}  // namespace freehca::easy
