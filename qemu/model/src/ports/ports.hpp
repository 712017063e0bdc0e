// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <freehca/model/link_faults.hpp>

#include "basis/adapter.hpp"
#include "fabric/managed_port.hpp"
#include "link/link_codec.hpp"
#include "link/link_peer.hpp"
#include "link/packet.hpp"
#include "link/packet_buffers.hpp"
#include "link/path.hpp"
#include "link/port_addresses.hpp"
#include "link/roce_addresses.hpp"
#include "ports/interface_counters.hpp"
#include "ports/link_modes.hpp"
#include "ports/mad_demultiplexer.hpp"
#include "ports/port.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class command_checks;

class ethernet_port;
class far_end;
class infiniband_port;

/// The ports, each of the kind that the options say, or SET_PORT has made it: INIT_PORT,
/// CLOSE_PORT, SET_PORT, QUERY_PORT, SENSE_PORT, SET_NODE, MAD_IFC, MAD_DEMUX, the commands of
/// Ethernet ports and the counters that contexts name. Port numbers are 1-based; a number that is
/// no port's is a port that is down.
class ports final : public port_addresses, public roce_addresses {
 public:
  explicit ports(adapter& a);
  ~ports() override;
  ports(const ports&) = delete;
  ports& operator=(const ports&) = delete;

  /// The port of that number if it is of that kind now; else null.
  ethernet_port* ethernet(unsigned port) const;
  infiniband_port* infiniband(unsigned port) const;
  /// What contexts count in by index, for all ports.
  interface_counters& counters_by_index() { return counters_by_index_; }
  /// A packet of so many bytes, in the form of class packet, that a queue pair whose context names
  /// `counter` sent or got. Nothing for an InfiniBand port.
  void count_sent(unsigned port, unsigned counter, std::size_t packet_bytes);
  void count_received(unsigned port, unsigned counter, std::size_t packet_bytes);

  /// Puts `peer` at the far end of an InfiniBand port's link, in place of whoever is there; null:
  /// nobody. The peer must outlive this object, or be replaced before it ends.
  void connect(unsigned port, link_peer* peer);

  /// A packet from a local queue pair. Looped back when its DLID or its destination MAC is one of
  /// the port's own, handed to the peer otherwise; to groups, both. Always asynchronous: never
  /// calls transport::receive from inside.
  void transmit(unsigned port, packet p);
  /// By which port what a queue pair sends by `way` leaves (VIRT_PORT_MAP); its addresses are
  /// entries of that port's tables. `way` itself, or, in `other`, what the map makes of it.
  const path& physical(const path& way, std::optional<path>& other) const;
  path physical(const path& way) const {
    std::optional<path> other;
    return physical(way, other);
  }
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
  // As their namesakes in class device.
  void arrived(unsigned port, std::span<const std::byte> bytes);
  void has_room(unsigned port);
  /// False: there is no cable to another adapter.
  bool set_faults(unsigned port, const link_faults& how);

  /// May packets other than SMPs flow (port state Active; Armed receives)?
  bool active(unsigned port) const;
  /// Bytes of the MTU that the subnet manager has chosen.
  unsigned mtu_bytes(unsigned port) const;
  /// What wraps and unwraps packets of the port's link: RoCE's for Ethernet ports, else
  /// InfiniBand's.
  const link_codec& codec(unsigned port) const;
  packet_buffers& buffers() { return buffers_; }
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
  // Of Ethernet ports (roce_tables.cpp).
  std::optional<roce_address> gid_at(unsigned port, unsigned index) const override;
  bool own_gid(unsigned port, const std::byte* gid, roce_version version) const override;
  bool speaks(unsigned port, roce_version version) const override;
  std::optional<std::uint64_t> mac_at(unsigned port, unsigned index) const override;
  bool own_mac(unsigned port, std::uint64_t mac) const override;
  std::optional<std::uint16_t> vlan_at(unsigned port, unsigned index) const override;
  std::optional<std::uint16_t> v2_udp_port(unsigned port) const override;
  /// Counters that the transport knows of first.
  void count_pkey_violation(unsigned port);
  void count_qkey_violation(unsigned port, std::uint32_t qkey, std::uint32_t source_qp);
  void clear();

 private:
  layouts::command_status init_port(command& c);
  layouts::command_status close_port(command& c);
  layouts::command_status set_port(command& c);
  layouts::command_status set_infiniband_port(command& c);
  layouts::command_status query_port(command& c);
  layouts::command_status sense_port(command& c);
  layouts::command_status set_node(command& c);
  layouts::command_status mad_ifc(command& c);
  // Of Ethernet ports (ethernet_commands.cpp).
  layouts::command_status set_ethernet_port(command& c);
  layouts::command_status set_vlan_fltr(command& c);
  layouts::command_status set_mcast_fltr(command& c);
  layouts::command_status dump_eth_stats(command& c);
  layouts::command_status query_if_stat(command& c);
  layouts::command_status virt_port_map(command& c);
  layouts::command_status set_port_map(command& c);
  layouts::command_status congestion_ctrl(command& c);
  /// Who waits for a port that it sends by no more waits for ever.
  void map_ports(std::array<unsigned, 2> to);

  /// What a port can be. Both live as long as the adapter: work that is under way for the one that
  /// it is no more finds it closed.
  struct place {
    std::unique_ptr<infiniband_port> infiniband;
    std::unique_ptr<ethernet_port> ethernet;
    port* now = nullptr;              ///< one of them
    std::unique_ptr<far_end> sensor;  ///< of a VPI port
    bool plugged = true;

    using saved =
        saving::fields<saving::behind(&place::infiniband), saving::behind(&place::ethernet),
                       saving::behind(&place::sensor), &place::plugged>;
    static constexpr saving::unsaved_member unsaved[] = {
        {"now", "transfer_state() of class ports writes its kind"}};
  };
  void make_port(unsigned number);
  /// May SET_PORT make it a port of `kind`? `to`: what it would be; null, and refused, where it
  /// cannot be that.
  void check_type(command_checks& is, unsigned number, const port* to, const char* is_of) const;
  /// Makes it that one, if it is another. What commands told of the other is forgotten.
  void become(unsigned number, port& to);
  /// Back to what it is at power-on.
  void clear(unsigned number);
  void far_end_changed(unsigned number);
  /// What SENSE_PORT finds at the far end.
  std::optional<link_layer> sensed(unsigned number) const;
  void take_commands();
  port* at(std::uint64_t number) const;
  /// The port that a command names; `is` refuses it where there is none.
  port* named(command_checks& is, std::uint64_t number) const;
  /// The same, if it is an Ethernet port now; another is refused.
  ethernet_port* named_ethernet(command_checks& is, std::uint64_t number) const;
  void name_node();
  /// Lets each port's agent tell of the others (IBTA vol. 1, 14.2.5.6).
  void show_ports();

  adapter& a_;
  node_identity node_;
  mad_demultiplexer demux_;
  interface_counters counters_by_index_;
  packet_buffers buffers_;
  std::unique_ptr<const link_codec> infiniband_, roce_;
  std::array<place, 2> ports_;
  std::array<link_modes, 2> modes_;

 public:
  using saved = saving::fields<&ports::node_, &ports::demux_, &ports::counters_by_index_,
                               &ports::ports_, &ports::modes_>;
  static constexpr saving::unsaved_member unsaved[] = {{"buffers_", "memory without a value"},
                                                       {"infiniband_", "set at construction"},
                                                       {"roce_", "set at construction"}};
  /// A load comes after that of port_layers, and refuses ports that are of another kind there.
  void transfer_state(saving::writer& to);
  void transfer_state(saving::reader& from);

 private:
  template <class Archive>
  void transfer_with_kinds(Archive& archive);
};

}  // namespace freehca::model
