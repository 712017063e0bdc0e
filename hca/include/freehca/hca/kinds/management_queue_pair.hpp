// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The special queue pairs of the ports: QP0 for subnet management (SMI) and QP1 for general
// management (GSI). Sources: Linux 6.1 mlx4/qp.c mlx4_init_qp_table, mlx4_CONF_SPECIAL_QP;
// hw/mlx4/qp.c create_qp_common, __mlx4_ib_modify_qp, build_mlx_header.
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/special_qp.hpp>
#include <freehca/layouts/mad.hpp>

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// The eight numbers of the special queue pairs. While the object exists, the firmware gives the
/// management datagrams of the ports to the host (CONF_SPECIAL_QP), and its own agents answer
/// MAD_IFC only. The control owner has one at most. Linux sends the command once after INIT_HCA.
/// illumos sends it when the first special queue pair is allocated (hermon_qp.c
/// hermon_special_qp_rsrc_alloc), so it is allowed at any time after INIT_HCA.
struct special_queue_pairs : device_object {
  struct attributes {};
  using creating = commands::conf_special_qp;
  static constexpr kind_facts facts{
      .name = "special queue pairs",
      .item = 0x64,
      .numbers = &number_spaces::qps,
      .group = context_group::qp,
      .destroying = [](std::uint32_t) { return taking_back<commands::conf_special_qp>(0); }};

  /// Errors: driver_error::unsupported (not the control owner), ::busy (there is another one).
  status plan(verbs& in, const attributes&, creation<creating>& to);
  status build(verbs&, const attributes&, creation<creating>& to) {
    to.command.aim(number);
    return {};
  }
};

using special_qps_handle = handle<special_queue_pairs>;
using create_special_queue_pairs = create_object<special_queue_pairs>;
using destroy_special_queue_pairs = destroy_object<special_queue_pairs>;

/// `service` is not read, and the queue pair has a receive queue of its own.
struct management_queue_pair_attributes : queue_pair_attributes {
  special_qps_handle special{};
  std::uint32_t qp = layouts::qp1_gsi;  ///< or qp0_smi, which only InfiniBand ports have
  unsigned port = 1;
};

/// QP0 or QP1 of a port. It receives like a datagram queue pair: a GRH or 40 unused bytes precede
/// the datagram, and the completion has the sender's LID and QPN. A completion of QP1 also has the
/// index of the P_Key. The operations of queue_pair work on it, but the transitions to INIT, RTR
/// and RTS are those of modify_management_queue_pair, and send_management() posts its sends.
struct management_queue_pair : queue_pair {
  using attributes = management_queue_pair_attributes;
  using stands_in_for = queue_pair;
  static constexpr kind_facts facts = facts_like(queue_pair::facts, "management queue pair", 0x65);

  /// Errors besides those of queue_pair: driver_error::bad_argument (attribute_id::port,
  /// ::special_qp), ::busy (the queue pair exists already).
  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to);

  std::uint8_t port = 1;
  bool is_smi = false;  ///< QP0
};

using management_qp_handle = handle<management_queue_pair>;
using create_management_queue_pair = create_object<management_queue_pair>;
using destroy_management_queue_pair = destroy_object<management_queue_pair>;

/// Moves a management queue pair as modify_queue_pair does. It needs no attributes: the Q_Key is
/// layouts::gsi_qkey, and the port is known.
class modify_management_queue_pair : public modify_queue_pair {
 public:
  void start(verbs& owner, management_qp_handle queue, layouts::qp_state to);
};

/// A management datagram to be sent. The driver keeps no copy of a port's P_Keys and addresses. The
/// caller reads them with pkey_query and guid_query, or has set them with set_port_addresses.
struct management_send {
  std::uint64_t wr_id = 0;
  /// The way to the peer, from the port of the queue pair. `static_rate` and `mac_index` are not
  /// used. From QP0, `dlid` may be layouts::permissive_lid.
  address_attributes address{};
  gid source{};            ///< the source GID of a global path. By RoCE, the GID at `sgid_index`
  std::uint64_t smac = 0;  ///< the source MAC, by RoCE
  std::uint32_t remote_qpn = layouts::qp1_gsi;  ///< from QP0: layouts::qp0_smi
  std::uint32_t qkey = layouts::gsi_qkey;
  std::uint16_t pkey = layouts::default_pkey_full;
  /// From QP1 of an InfiniBand port: the virtual lane of the SL, 0 to 14. The caller knows the
  /// port's SLtoVLMappingTable. Datagrams of QP0 take lane 15.
  std::uint8_t virtual_lane = 0;
  queues::data_entry datagram{};  ///< layouts::mad_bytes bytes
  bool signaled = true, solicited = false;
};

/// Posts a management datagram and rings the doorbell. Errors: driver_error::stale_handle, ::busy,
/// ::bad_argument (verbs::refused() names the attribute), ::unsupported (the GID at `sgid_index` is
/// of RoCE v2: the device would compute a wrong invariant CRC), ::bad_state (the queue pair is not
/// in RTS), ::queue_full.
status send_management(verbs& in, management_qp_handle from, const management_send& what);

}  // namespace freehca
