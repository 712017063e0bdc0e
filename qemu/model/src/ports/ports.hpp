// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "basis/adapter.hpp"
#include "fabric/managed_port.hpp"
#include "link/link_codec.hpp"
#include "link/link_peer.hpp"
#include "link/packet.hpp"
#include "link/path.hpp"
#include "link/port_addresses.hpp"
#include "ports/link_modes.hpp"
#include "ports/mad_demultiplexer.hpp"

namespace freehca::model {

class command_checks;

class cable;
class port;
class subnet_manager;

/// The ports: INIT_PORT, CLOSE_PORT, SET_PORT, QUERY_PORT, SENSE_PORT, SET_NODE, MAD_IFC,
/// MAD_DEMUX, the subnet management agent and performance management agent of the firmware, port
/// state, GID and P_Key tables, counters, events. Port numbers are 1-based; a number that is no
/// port's is a port that is down.
class ports final : public port_addresses {
 public:
  explicit ports(adapter& a);
  ~ports() override;
  ports(const ports&) = delete;
  ports& operator=(const ports&) = delete;

  /// Puts `peer` at the far end of a port's link, in place of whoever is there; null: nobody. The
  /// peer must outlive this object, or be replaced before it ends.
  void connect(unsigned port, link_peer* peer);

  /// A packet from a local queue pair. Looped back when its DLID is one of the port's own, handed
  /// to the peer otherwise. Always asynchronous: never calls transport::receive from inside.
  void transmit(unsigned port, packet p);
  /// Must a packet by `way` wait, because the port's cable is full? Then
  /// transport::port_has_room() is called later.
  bool held_up(const path& way) const;
  /// A packet that a queue pair sends to its own adapter, past the port: only a capture sees it.
  void capture(unsigned port, const packet& p);
  /// A packet from the link: counted, handed to the firmware's agent where that is its addressee
  /// (MAD_DEMUX), to packet_receiver::receive otherwise. Asynchronous too.
  void receive_from_link(unsigned port, packet p);

  /// Pulls or plugs in the cable of a port: to another adapter, or to the built-in subnet manager.
  void plug(unsigned port, bool plugged);

  /// The cable of a port to another adapter; null where there is none.
  cable* cable_of(unsigned port) const;

  /// May packets other than SMPs flow (port state Active; Armed receives)?
  bool active(unsigned port) const;
  /// Bytes of the MTU that the subnet manager has chosen.
  unsigned mtu_bytes(unsigned port) const;
  /// What wraps and unwraps packets of the port's link: InfiniBand's, for all ports.
  const link_codec& codec(unsigned) const { return *infiniband_; }
  std::uint16_t base_lid(unsigned port) const override;
  bool own_lid(unsigned port, std::uint16_t lid) const override;
  std::uint16_t source_lid(unsigned port, unsigned path_bits) const override;
  /// What modes an Ethernet port's link may have; null: that port is none.
  link_modes* modes(unsigned port);
  /// The P_Key at `index`; 0 past the table.
  std::uint16_t pkey(unsigned port, unsigned index) const;
  unsigned pkey_entries(unsigned port) const;
  /// Does `pkey` match an entry of the port's table (one of the two must be a full member)?
  bool pkey_matches(unsigned port, std::uint16_t pkey) const;
  bool gid(unsigned port, unsigned index, std::byte* to) const override;
  /// Counters that the transport knows of first.
  void count_pkey_violation(unsigned port);
  void count_qkey_violation(unsigned port, std::uint32_t qkey, std::uint32_t source_qp);
  void clear();

 private:
  layouts::command_status init_port(command& c);
  layouts::command_status close_port(command& c);
  layouts::command_status set_port(command& c);
  layouts::command_status query_port(command& c);
  layouts::command_status sense_port(command& c);
  layouts::command_status set_node(command& c);
  layouts::command_status mad_ifc(command& c);
  port* at(std::uint64_t number) const;
  /// The port that a command names; `is` refuses it where there is none.
  port* named(command_checks& is, std::uint64_t number) const;
  void check_infiniband(command_checks& is, const port& p, unsigned number) const;
  bool ethernet(const port& p) const;
  void name_node();
  /// Lets each port's agent tell of the others (IBTA vol. 1, 14.2.5.6).
  void show_ports();

  adapter& a_;
  node_identity node_;
  mad_demultiplexer demux_;
  std::unique_ptr<const link_codec> infiniband_;
  std::array<std::unique_ptr<port>, 2> ports_;
  std::array<std::unique_ptr<subnet_manager>, 2> managers_;
  std::array<std::unique_ptr<cable>, 2> cables_;
  std::array<link_modes, 2> modes_;
};

}  // namespace freehca::model
