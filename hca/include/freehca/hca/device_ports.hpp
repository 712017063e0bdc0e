// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/layouts/query_port.hpp>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// Whether a port is open: INIT_PORT was answered with ok, or is on its way, and CLOSE_PORT was
/// not.
struct port_control {
  bool open = false;      // or may be
  bool changing = false;  // an operation works on it, or one that was not answered
  bool wanted = false;    // what the command under way brings about
  lease at_risk{lease_kind::mapping, 1, &port_control::settled, this};
  static void settled(lease& which, const settlement& end, void* port) noexcept;
};

/// The ports of a device: what each is, whether it is open, and which must be read anew. They count
/// from 1.
class device_ports {
 public:
  const port_attributes& attributes(unsigned port) const { return attributes_[port - 1]; }
  port_control& control(unsigned port) { return controls_[port - 1]; }
  const port_control& control(unsigned port) const { return controls_[port - 1]; }
  bool changing() const;

  /// Nothing is known of the device's `count` ports.
  void begin(unsigned count);
  void describe(unsigned port, const capabilities& can);
  void set_guid(unsigned port, std::uint64_t guid) { attributes_[port - 1].guid = guid; }
  /// The first InfiniBand port from `port` on; 0: none.
  unsigned infiniband_from(unsigned port) const;
  /// Reads PortInfo; take() puts what was read in place, once the operation is done.
  operation& read(channel& commands, unsigned port);
  status take(unsigned port) { return take(port, query_); }
  status take(unsigned port, const port_query& read);

  /// It was looked at since begin().
  bool known(unsigned port) const { return (known_ >> port & 1) != 0; }
  /// It had a partner at some look since begin(): a link that trains looks in turns as if it had
  /// none.
  bool had_partner(unsigned port) const { return (partners_ >> port & 1) != 0; }

  /// An event says that the port is not as it was last read.
  void changed(unsigned port) {
    if (port != 0 && infiniband_from(port) == port) stale_ |= 1u << port;
  }
  void read_next_changed(channel& commands, std::uint64_t now);
  /// The port that has been read since; 0: none. One that could not be read is read again later.
  unsigned take_changed(std::uint64_t now);
  bool reading_changed() const { return reading_ != 0; }
  /// When take_changed() or read_next_changed() have something to do.
  std::uint64_t next_change() const {
    if (reading_ != 0) return query_.done() ? 0 : clock::never;
    return stale_ != 0 ? retry_at_ : clock::never;
  }

  /// The device was reset.
  void forget();

 private:
  unsigned count_ = 0;
  port_attributes attributes_[most_ports];
  port_control controls_[most_ports];
  port_query query_;
  unsigned reading_ = 0;        // what query_ reads after a change; 0: none
  std::uint32_t stale_ = 0;     // bit n: port n has changed
  std::uint64_t retry_at_ = 0;  // a port that has changed is not read earlier
  std::uint32_t known_ = 0;     // bit n: port n was looked at
  std::uint32_t partners_ = 0;  // bit n: port n had one
};

}  // namespace freehca
