// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Rules of device-managed steering: the device gives packets that a rule takes to the queue pair of
// the rule. Sources: Linux 6.1 mcg.c mlx4_flow_attach, mlx4_flow_detach, parse_trans_rule,
// mlx4_trans_to_dmfs_attach; hw/mlx4/main.c __mlx4_ib_create_flow.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/flow_rule.hpp>
#include <freehca/hal/operation.hpp>

#include <freehca/hca/device_managed_steering.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/port_addresses.hpp>

namespace freehca {

struct flow_rule;
using flow_rule_handle = handle<flow_rule>;

/// The users of rules. The device asks the rules of a domain with a smaller number first. The
/// values are those of Linux 6.1 (mlx4/device.h MLX4_DOMAIN_*).
enum class flow_domain : std::uint16_t {
  verbs = 0x1000,
  administrator = 0x2000,
  receive_steering = 0x3000,
  network = 0x5000,
};

// The headers of a rule. A rule takes a packet if the values of all headers are equal in the bits
// of their masks.

/// MAC addresses have 48 bits, the first byte is the most significant.
struct ethernet_flow {
  std::uint64_t destination = 0, destination_mask = 0;
  std::uint64_t source = 0, source_mask = 0;  ///< no group
  std::uint16_t vlan = 0, vlan_mask = 0;      ///< 12 bits: 0 to 4094
  bool by_ether_type = false;                 ///< the type is compared
  std::uint16_t ether_type = 0;
};
struct ipv4_flow {
  std::uint32_t destination = 0, destination_mask = 0, source = 0, source_mask = 0;
};
struct tcp_flow {
  std::uint16_t destination = 0, destination_mask = 0, source = 0, source_mask = 0;
};
struct udp_flow : tcp_flow {};
/// Datagrams of InfiniBand, and those of RoCE to groups.
struct infiniband_flow {
  gid destination{}, destination_mask{};
  std::uint32_t qpn = 0, qpn_mask = 0;
};

/// One header of a rule.
struct flow_part {
  constexpr flow_part() : ethernet{} {}
  constexpr flow_part(const ethernet_flow& h)
      : what(layouts::flow_header_id::ethernet), ethernet(h) {}
  constexpr flow_part(const ipv4_flow& h) : what(layouts::flow_header_id::ipv4), ipv4(h) {}
  constexpr flow_part(const tcp_flow& h) : what(layouts::flow_header_id::tcp), ports(h) {}
  constexpr flow_part(const udp_flow& h) : what(layouts::flow_header_id::udp), ports(h) {}
  constexpr flow_part(const infiniband_flow& h)
      : what(layouts::flow_header_id::infiniband), infiniband(h) {}

  layouts::flow_header_id what{};
  union {
    ethernet_flow ethernet;
    ipv4_flow ipv4;
    tcp_flow ports;
    infiniband_flow infiniband;
  };
};

struct flow_rule_attributes {
  static constexpr unsigned most_headers = 3;
  static constexpr std::uint16_t most_priority = 0xfff;

  qp_handle pair{};
  std::uint8_t port = 1;
  flow_domain domain = flow_domain::verbs;
  std::uint16_t priority = 0;  ///< in the domain; smaller comes first
  /// Types other than regular have no headers. They are rules of Ethernet ports: all_default takes
  /// frames that no other rule takes (promiscuous mode), multicast_default those of them that go to
  /// groups.
  layouts::flow_rule_type type = layouts::flow_rule_type::regular;
  bool exclusive = false;      ///< no rule behind this one gets the packet
  bool allow_loopback = true;  ///< what the queue pair sends comes back to it
  /// The headers in the order of the packet: Ethernet or InfiniBand, then IPv4, then TCP or UDP.
  unsigned header_count = 0;
  flow_part headers[most_headers]{};
};

/// The rule of a queue pair that is a member of a multicast group. With device-managed steering it
/// takes the place of join_group (Linux 6.1 mcg.c mlx4_trans_to_dmfs_attach).
constexpr flow_rule_attributes group_rule(qp_handle pair, std::uint8_t port, const gid& group,
                                          bool block_loopback = false) {
  infiniband_flow to{.destination = group};
  for (std::uint8_t& byte : to.destination_mask.raw) byte = 0xff;
  flow_rule_attributes rule{.pair = pair,
                            .port = port,
                            .domain = flow_domain::network,
                            .allow_loopback = !block_loopback,
                            .header_count = 1};
  rule.headers[0] = flow_part(to);
  return rule;
}

/// What create_flow_rule and destroy_flow_rule have in common. The caller owns the operation. A
/// deadline and cancel() apply to the command.
class flow_rule_change : public stepper {
 protected:
  flow_rule_change();
  ~flow_rule_change();
  void refuse(verbs& owner, status why);
  void begin_change(flow_rule& rule, bool creates);

  flow_rule_handle made_;
  std::uint16_t bytes_ = 0;  // of the rule in input_
  // The longest rule: Ethernet or InfiniBand, IPv4, and TCP or UDP.
  std::byte input_[layouts::flow_rule_control::bytes + layouts::flow_header_ethernet::bytes +
                   layouts::flow_header_ipv4::bytes + layouts::flow_header_ports::bytes];
  static_assert(layouts::flow_header_ethernet::bytes == layouts::flow_header_infiniband::bytes);

 private:
  static void advance(stepper& self, status outcome) noexcept;

  flow_rule* rule_ = nullptr;
  command command_;
};

/// A rule. While it exists, its queue pair is not destroyed (driver_error::busy). Only the control
/// owner has rules.
///
/// Only the answer to the creation says which number the rule has. If the firmware creates a rule,
/// but the operation was cancelled, timed out or was destroyed before the answer, the driver cannot
/// destroy the rule. The rule then stays until the device is reset, and nobody has its handle.
struct flow_rule : object_record {
  static constexpr kind_facts facts{.name = "flow rule", .item = 0x62};

  std::uint64_t registration = 0;  ///< the number that the firmware gave

 private:
  friend class flow_rule_change;
  void ended(bool done);
  static void settled(lease& which, const settlement& end, void* self) noexcept;

  bool in_creation_ = false;  // the last command was that of the creation
  lease at_risk_{lease_kind::mapping, 1, &settled, this};
};

/// Creates a rule.
///
/// Outcomes besides those of the command: driver_error::bad_argument (verbs::refused() names the
/// attribute), ::stale_handle, ::busy (an operation works on the queue pair), ::unsupported (not
/// the control owner, or the device was opened without steer_by_rules()), ::no_resource (`where`:
/// flow_rule::facts.item), ::bad_state, ::cancelled, transport_error::timeout. The firmware refuses
/// a rule if its table is full, or if there are too many rules for the same packets
/// (layouts::command_status::exceeds_limits).
class create_flow_rule : public flow_rule_change {
 public:
  create_flow_rule() = default;
  ~create_flow_rule() { drop(); }

  void start(verbs& owner, const flow_rule_attributes& attributes) {
    if (startable()) start_creation(owner, kind_of<flow_rule>, attributes);
  }
  /// The handle of the rule. Valid once the operation is done with the outcome ok.
  flow_rule_handle made() const { return made_; }

 private:
  void start_creation(verbs& owner, const kind& what, const flow_rule_attributes& a);
  status write(verbs& owner, const flow_rule_attributes& a, std::uint32_t qpn);
};

/// Destroys a rule. If the firmware refuses, the rule stays.
class destroy_flow_rule : public flow_rule_change {
 public:
  destroy_flow_rule() = default;
  ~destroy_flow_rule() { drop(); }

  void start(verbs& owner, flow_rule_handle which);
};

}  // namespace freehca
