// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/hal/atomics.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/layouts/query_port.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/port_addresses.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// The state of a port. It is open if INIT_PORT was answered with ok or is in flight, and
/// CLOSE_PORT was not answered with ok.
struct port_control {
  bool open = false;       // true also if the port only may be open
  bool changing = false;   // an operation works on the port, or the port is in doubt
  bool requested = false;  // the value of `open` if the command under way succeeds
  lease at_risk{lease_kind::mapping, 1, &port_control::settled, this};
  static void settled(lease& which, const settlement& end, void* port) noexcept;
  port_address_tables addresses;
  lease addresses_at_risk{lease_kind::mapping, 1, &port_control::addresses_settled, this};
  static void addresses_settled(lease& which, const settlement& end, void* port) noexcept;
};

/// The ports of a device: their attributes, their states, and the set of ports that must be read
/// again. Ports count from 1.
class device_ports {
 public:
  const port_attributes& attributes(unsigned port) const { return attributes_[port - 1]; }
  port_attributes& attributes(unsigned port) { return attributes_[port - 1]; }
  port_control& control(unsigned port) { return controls_[port - 1]; }
  const port_control& control(unsigned port) const { return controls_[port - 1]; }
  bool changing() const;

  /// Changes the number of objects of one owner that use a port. Called on the thread of the owner.
  void count_users(unsigned port, std::uint32_t owner_index, int change) {
    atomics::atomic<std::uint32_t>& users = users_[port - 1][owner_index];
    const auto more = static_cast<std::uint32_t>(change);
    users.store(users.load(std::memory_order::relaxed) + more, std::memory_order::relaxed);
  }
  /// True if an object of any owner uses the port.
  bool has_users(unsigned port) const {
    for (const atomics::atomic<std::uint32_t>& users : users_[port - 1])
      if (users.load(std::memory_order::relaxed) != 0) return true;
    return false;
  }

  /// Forgets all attributes. The device has `count` ports.
  void begin(unsigned count);
  void describe(unsigned port, const capabilities& can);
  void set_guid(unsigned port, std::uint64_t guid) { attributes_[port - 1].guid = guid; }
  /// Returns the first InfiniBand port from `port` on, or 0 if there is none.
  unsigned infiniband_from(unsigned port) const;
  /// read() starts a query of PortInfo. When the returned operation is done, take() stores the
  /// attributes that were read.
  operation& read(channel& commands, unsigned port);
  status take(unsigned port) { return take(port, query_); }
  status take(unsigned port, const port_query& read);

  /// True if the port was read at least once since begin().
  bool known(unsigned port) const { return (known_ >> port & 1) != 0; }
  /// True if a read since begin() found a partner. While a link trains, some reads find a partner
  /// and others do not.
  bool had_partner(unsigned port) const { return (partners_ >> port & 1) != 0; }

  /// Links the function that reads Ethernet ports. Their events are without effect before.
  void watch_ethernet() { start_ethernet_ = &start_ethernet; }

  /// Notes that an event reported a change of the port. No effect on an Ethernet port that no
  /// operation has named yet.
  void changed(unsigned port) {
    // The operation that names an Ethernet port sets its MTU.
    if (port - 1 < count_ && (is_infiniband(port) || attributes(port).ethernet_mtu != 0))
      stale_ |= 1u << port;
  }
  /// Reads the port again after a pause, because a part of it could not be read. The device reports
  /// a change only once. Without the pause the driver would send the query without end to a
  /// firmware that refuses it.
  void read_later(unsigned port, std::uint64_t now) {
    // No source: chosen.
    constexpr std::uint64_t pause = clock::milliseconds(100);
    stale_ |= 1u << port;
    retry_at_ = clock::after(now, pause);
  }
  void read_next_changed(channel& commands, std::uint64_t now);
  /// Returns the changed port that was read successfully since the last call, or 0. If a read
  /// failed, the port is read again later.
  unsigned take_changed(std::uint64_t now);
  bool reading_changed() const { return reading_ != 0; }
  /// The time at which take_changed() or read_next_changed() has work.
  std::uint64_t next_change() const {
    if (reading_ != 0) return query_.done() ? 0 : clock::never;
    return stale_ != 0 ? retry_at_ : clock::never;
  }

  /// Reports that the device was reset.
  void forget();

 private:
  using ethernet_start = void(device_ports& of, channel& commands, unsigned port);
  static ethernet_start start_ethernet;  // hca/src/ethernet
  bool is_infiniband(unsigned port) const {
    return attributes(port).link_layer == layouts::port_type::ib;
  }

  // The members that are read most often come first, at small offsets.
  unsigned count_ = 0;
  unsigned reading_ = 0;        // the changed port that query_ reads; 0: none
  std::uint32_t stale_ = 0;     // bit n: port n has changed and must be read
  std::uint32_t known_ = 0;     // bit n: port n was read
  std::uint32_t partners_ = 0;  // bit n: port n had a partner
  ethernet_start* start_ethernet_ = nullptr;
  std::uint64_t retry_at_ = 0;  // changed ports are not read before this time
  port_attributes attributes_[most_ports];
  port_control controls_[most_ports];
  // A number for each owner, so that each number has one writer: see interrupt_count.
  atomics::atomic<std::uint32_t> users_[most_ports][1 + budget::most_completion_event_queues] = {};
  port_query query_;
};

}  // namespace freehca
