// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// The attributes of change_queue_pair. `given` says which of them change. The others are not read.
struct queue_pair_changes {
  std::uint32_t bytes = sizeof(queue_pair_changes);  ///< as in connection_attributes
  std::uint32_t given = 0;                           ///< bits of layouts::qp_optpar
  std::uint16_t pkey_index = 0;                      ///< pkey_index
  /// rre, rwe and rae, one bit for each of them.
  bool remote_read = false, remote_write = false, remote_atomic = false;
  std::uint8_t min_rnr_timer = 0;        ///< min_rnr_nak; IBTA code
  std::uint32_t qkey = 0;                ///< qkey
  std::uint32_t reads_as_responder = 1;  ///< rra_max; rounded up to a power of two
  std::uint32_t reads_as_requester = 1;  ///< sra_max; rounded down to a power of two
  std::uint8_t retry_count = 7;          ///< retry_count
  std::uint8_t rnr_retry = 7;            ///< rnr_retry
  std::uint8_t ack_timeout = 14;         ///< ack_timeout; that of the primary path
  /// pm_state: rearm or migrated. The device makes it `armed` when the peer has asked for it too.
  layouts::path_migration migration = layouts::path_migration::migrated;
  /// primary_path. In INIT only its port can change: sched_queue. The RoCE version stays the same.
  address_attributes path{};
  /// alternate_path means the three of them.
  address_attributes alternate{};
  std::uint16_t alternate_pkey_index = 0;
  std::uint8_t alternate_ack_timeout = 14;
  /// RTS to SQD: requests the event sq_drained (verbs_events::qp) when the send queue has drained.
  bool drained_event = false;
};

/// Moves a queue pair from INIT to INIT, from RTS to RTS, to SQD (qp_state::sq_draining), from SQD
/// to SQD (sq_drained) or to RTS, and from SQE to RTS, and changes attributes with that. All other
/// transitions are those of modify_queue_pair.
///
/// In SQD the device begins no further request. Requests can be posted, and wait. From SQD another
/// transition of this operation leads on once the driver knows that the queue has drained: by the
/// event that `drained_event` requests, or by query_queue_pair.
///
/// Which attributes can change is as in the IBTA specification (vol. 1, 11.2.5.2), and depends on
/// the transition and on the service. Linux 6.1 core/verbs.c qp_state_table has the same table. An
/// alternate path needs a device and ports of InfiniBand (core/verbs.c _ib_modify_qp). Both paths
/// can be changed without a change of state only in the states that the table permits.
///
/// Errors: driver_error::bad_state (there is no such transition from the present state),
/// ::unsupported (the device does not migrate paths), ::bad_argument (a value, or
/// attribute_id::changes: attributes that cannot change with this transition, as bits of
/// layouts::qp_optpar), and those of check_port() and write_path(). Attributes that were changed
/// from INIT to INIT are those that the transition to RTR writes again, as after the transition to
/// INIT. If that change is in doubt, RTR writes the new ones.
class change_queue_pair : public object_operation {
 public:
  change_queue_pair() = default;
  ~change_queue_pair() { drop(); }

  void start(verbs& owner, qp_handle queue, layouts::qp_state to,
             const queue_pair_changes& changes = {});

 private:
  struct kept_rights {
    std::uint16_t pkey_index;
    bool remote_read, remote_write, remote_atomic;
  };
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::any_qp_transition> transition_{layouts::opcode::rts2rts_qp,
                                                            std::uint32_t{0}};
  layouts::qp_state from_ = layouts::qp_state::reset, to_ = layouts::qp_state::reset;
  kept_rights before_{};
};

/// A path of a queue pair, as the device reports it. Only the path of its link layer is valid.
struct reported_path {
  std::uint16_t pkey_index = 0;
  std::uint8_t ack_timeout = 0;
  bool ethernet = false;
  infiniband_path infiniband;
  roce_path roce;
};

/// The attributes of a queue pair, as the device reports them.
struct queue_pair_report {
  layouts::qp_state state = layouts::qp_state::reset;
  layouts::path_migration migration = layouts::path_migration::migrated;
  bool remote_read = false, remote_write = false, remote_atomic = false;
  layouts::ib_mtu path_mtu = layouts::ib_mtu::mtu_1024;
  std::uint8_t min_rnr_timer = 0, retry_count = 0, rnr_retry = 0, log_ack_request = 0;
  std::uint32_t qkey = 0, remote_qpn = 0;
  std::uint32_t receive_psn = 0, send_psn = 0;
  std::uint32_t reads_as_responder = 1, reads_as_requester = 1;
  reported_path primary, alternate;
};

/// Decodes the answer to a query. The VLAN of a path is that which the port's tables have now, or
/// no_vlan. The fields are read as in Linux 6.1 hw/mlx4/qp.c mlx4_ib_query_qp, to_rdma_ah_attr.
queue_pair_report report_of(const verbs& in, const query_queue_pair& answered);

}  // namespace freehca
