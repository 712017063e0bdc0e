// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/mad.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca {

/// The attributes of a port. link_layer, mac and the lengths of the tables are from QUERY_PORT, the
/// others from the subnet management agent of the port.
///
/// The other attributes of an Ethernet port are known once port_operation or set_ethernet_port has
/// worked on it. They are then those that RoCE has on the port: state, physical_state, active_width
/// and active_speed are from QUERY_PORT, and active_mtu is the largest one that fits into
/// ethernet_mtu (Linux 6.1 hw/mlx4/main.c eth_link_query_port). The attributes that only a subnet
/// manager sets are 0.
struct port_attributes {
  layouts::port_type link_layer = layouts::port_type::none;
  layouts::port_state state = layouts::port_state::down;
  layouts::port_physical_state physical_state{};
  std::uint16_t lid = 0, sm_lid = 0;
  std::uint8_t sm_sl = 0, lmc = 0;
  std::uint32_t capability_mask = 0;  ///< PortInfo:CapabilityMask
  std::uint64_t subnet_prefix = 0;
  std::uint64_t guid = 0;  ///< GUID 0 of the port
  layouts::ib_mtu max_mtu{}, active_mtu{};
  layouts::link_width active_width{};
  layouts::link_speed active_speed{};
  layouts::link_speed_ext active_speed_ext{};
  unsigned gid_table_length = 0, pkey_table_length = 0;
  /// The port's own MAC address, 48 bits, the first byte the most significant.
  std::uint64_t mac = 0;
  /// The MTU of IP over Ethernet, in bytes: without the Ethernet header, the tag and the FCS. 0 if
  /// it was not set yet.
  std::uint16_t ethernet_mtu = 0;
  bool sends_pause = false, obeys_pause = false;  ///< global pause of Ethernet (IEEE 802.3x)
  /// Priority pause of Ethernet: see ethernet_port_settings.
  std::uint8_t sends_priority_pause = 0, obeys_priority_pause = 0;
  bool active() const { return state == layouts::port_state::active; }
  /// True if there is a partner at the other end of the cable: the link is up, or trains. A port
  /// without a cable is down and polls. A port that was switched off is down and disabled
  /// (captures).
  bool has_partner() const {
    using physical = layouts::port_physical_state;
    return state > layouts::port_state::down || physical_state == physical::training ||
           physical_state == physical::link_up || physical_state == physical::link_error_recovery;
  }
};

/// A GID, in wire order.
struct gid {
  std::uint8_t raw[16] = {};
  friend constexpr bool operator==(const gid&, const gid&) = default;
};

/// One SubnGet to the firmware's own agent: the base of the queries below. Outcomes besides those
/// of MAD_IFC: transport_error::bad_reply if the agent refused (`where` is the MAD status). A done
/// operation may be restarted.
class subnet_query : public stepper {
 public:
  subnet_query() = default;
  ~subnet_query() { drop(); }

  /// Ports count from 1. The meaning of `modifier` depends on the attribute.
  void start(channel& commands, unsigned port, layouts::smp_attribute attribute,
             std::uint32_t modifier = 0);

  /// Returns the 64 bytes of the answer as one of the attributes of smp.hpp. Valid when the
  /// operation is done and ok.
  template <class Attribute>
  layouts::image<Attribute> attribute() const {
    static_assert(Attribute::bytes <= 64);
    return layouts::image<Attribute>::from_bytes(mad_.output.bytes_of<&layouts::smp::data>());
  }

 protected:
  /// The parts of start(): makes the MAD, and sends it.
  void prepare(unsigned port, layouts::smp_attribute attribute, std::uint32_t modifier = 0);
  void send(channel& commands) {
    if (deadline() != no_deadline) mad_.set_deadline(deadline());
    commands.submit(mad_);
  }
  static void answered(stepper& self, status outcome) noexcept;
  firmware_command<commands::mad_ifc<layouts::smp>> mad_{std::uint32_t{1}, std::uint32_t{0}};
};

/// Reads PortInfo.
class port_query : public subnet_query {
 public:
  void start(channel& commands, unsigned port) {
    subnet_query::start(commands, port, layouts::smp_attribute::port_info);
  }
  /// Sends QUERY_PORT for an Ethernet port. The answer then has the form of PortInfo.
  void start_ethernet(channel& commands, unsigned port, unsigned ethernet_mtu);
  /// Stores the attributes that were read. The GUID and the lengths of the tables are not part of
  /// PortInfo and stay unchanged.
  void read_into(port_attributes& to) const;

 private:
  static void ethernet_answered(stepper& self, status outcome) noexcept;
};

/// Reads eight GUIDs of the port: the lower halves of its GIDs 8 * block to 8 * block + 7.
class guid_query : public subnet_query {
 public:
  void start(channel& commands, unsigned port, unsigned block) {
    subnet_query::start(commands, port, layouts::smp_attribute::guid_info, block);
  }
  std::uint64_t guid(unsigned i) const;
};

/// Reads 32 P_Keys of the port, from 32 * block on.
class pkey_query : public subnet_query {
 public:
  void start(channel& commands, unsigned port, unsigned block) {
    subnet_query::start(commands, port, layouts::smp_attribute::pkey_table, block);
  }
  std::uint16_t pkey(unsigned i) const;
};

/// Returns the GID of a GUID in the subnet of the port.
gid gid_of(std::uint64_t subnet_prefix, std::uint64_t guid);

}  // namespace freehca
