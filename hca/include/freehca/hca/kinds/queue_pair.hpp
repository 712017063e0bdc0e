// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/qp.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/queues/directory.hpp>

#include <freehca/hca/kinds/address_attributes.hpp>
#include <freehca/hca/kinds/completion_queue.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/kinds/queue_pair_service.hpp>
#include <freehca/hca/kinds/shared_receive_queue.hpp>
#include <freehca/hca/objects/creation.hpp>

namespace freehca {

struct queue_pair_attributes {
  pd_handle pd{};
  cq_handle send_cq{}, receive_cq{};
  layouts::qp_service service = layouts::qp_service::rc;  ///< rc, uc or ud
  std::uint32_t sends = 0;     ///< send requests outstanding at the same time, at least
  std::uint32_t receives = 0;  ///< the same for receives; 0 with `shared`
  srq_handle shared{};         ///< the SRQ; default: the queue pair has its own receive queue
  unsigned gather = 1;         ///< most data entries of one send request
  unsigned scatter = 1;
  std::uint32_t inline_bytes = 0;
  void* cookie = nullptr;  ///< passed back in the events of the queue pair
  /// Permits masked atomics. WQEs then have room for queues::masked_compare_and_swap. Error:
  /// driver_error::unsupported (the device or the service has no masked atomics).
  bool masked_atomics = false;
};

/// The attributes of transitions. The caller may set all of them for each transition. A service
/// reads only the attributes that it uses. `bytes` is the size of this structure as the caller
/// knows it. Any other size than that of the driver fails with driver_error::bad_argument.
struct connection_attributes {
  std::uint32_t bytes = sizeof(connection_attributes);
  // INIT. The values of INIT stay in effect. Later transitions do not read these attributes.
  std::uint16_t pkey_index = 0;
  bool remote_read = false, remote_write = false, remote_atomic = false;
  std::uint32_t qkey = 0;  ///< datagrams: the Q_Key that packets must have
  // RTR
  layouts::ib_mtu path_mtu = layouts::ib_mtu::mtu_1024;
  std::uint8_t min_rnr_timer = 0;  ///< IBTA code
  std::uint32_t remote_qpn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t reads_as_responder = 1;  ///< rounded up to a power of two
  address_attributes address{};          ///< its kind and its port are read from INIT on
  // RTS
  std::uint32_t send_psn = 0;
  std::uint32_t reads_as_requester = 1;  ///< rounded down to a power of two
  std::uint8_t retry_count = 7;          ///< 0 to 7
  std::uint8_t rnr_retry = 7;            ///< 7: no limit
  std::uint8_t ack_timeout = 14;         ///< 4.096 us * 2^n; 0: no timeout
  std::uint8_t log_ack_request =
      8;  ///< a request for an ACK each 2^n packets (Linux: MLX4_IB_ACK_REQ_FREQ)
  /// INIT and RTR, with the same value: the packet_counter of the queue pair. 0xff: none.
  std::uint8_t counter = 0xff;
};

struct queue_pair : queue_object {
  using attributes = queue_pair_attributes;
  using creating = nothing;
  static constexpr kind_facts facts{.name = "queue pair",
                                    .item = 0x47,
                                    .numbers = &number_spaces::qps,
                                    .group = context_group::qp,
                                    .destroying = taking_back<commands::to_rst_qp>};

  queues::qp_rings rings;  ///< for posting
  queues::sq_shape send_shape;
  queues::rq_shape receive_shape;
  std::uint16_t xrcd = 0;  ///< the number of the XRC domain, for an XRC target alone
  std::uint8_t ports = 0;  ///< bit n: the queue pair counts as a user of port n + 1
  const queue_pair_service* service = nullptr;
  const protection_domain* domain = nullptr;
  completion_queue* send_cq = nullptr;
  completion_queue* receive_cq = nullptr;
  shared_receive_queue* shared = nullptr;
  /// The state as the driver knows it. It follows transitions, queries, and the errors that polled
  /// events and completions have reported. A send error of an unreliable service moves the queue
  /// pair to sq_error. There receives continue and posts of sends are refused.
  layouts::qp_state qp_state = layouts::qp_state::reset;
  bool state_unknown = false;  ///< a transition was not answered, and may still take effect
  // Attributes of INIT. The transition to RTR writes them again.
  std::uint16_t pkey_index = 0;
  bool remote_read = false, remote_write = false, remote_atomic = false;
  layouts::qp_state moving_to = layouts::qp_state::reset;  ///< the last transition's target

  status plan(verbs& in, const attributes& a, creation<creating>&);
  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
  void suspend();
  /// Permits the posts that the state allows. While the state is unknown, posts are refused.
  void resume();
  /// Records the end of the transition to `moving_to`. `done` is true if it was carried out, and
  /// false if it was refused.
  void settle_change(bool done);
  void notice(verbs& in, const object_event& event);
  void end_requests(verbs& in, status why);
  /// Drops the completions of this queue pair that were not polled.
  void forget_completions();
  /// Counts the queue pair as a user of a port, because its context will have a path over it.
  void use_port(unsigned port);
  void leave_ports(verbs& in);

 protected:
  /// As the other plan(), for a service that a kind of its own has. Does not read
  /// attributes::service.
  status plan(verbs& in, const attributes& a, const queue_pair_service* of);

 private:
  status open_rings(verbs& in, const attributes& a);
  static void request_failed(queues::qp_rings& rings, bool sent) noexcept;
};
static_assert(sizeof(void*) != 8 || sizeof(queue_pair) == 536);

/// Returns 0 for a stale handle.
inline std::uint32_t qpn_of(const verbs& in, qp_handle h) {
  const queue_pair* const pair = in.find(h);
  return pair != nullptr ? pair->number : 0;
}

/// Creates a queue pair in the RESET state.
using create_queue_pair = create_object<queue_pair>;
/// Resets a queue pair and destroys it. Completions that were not polled are dropped. Posts are
/// refused from the start of the operation on. If the firmware refuses the reset, or if the
/// operation is cancelled before the firmware has the command, the queue pair stays as it was and
/// accepts posts again.
using destroy_queue_pair = destroy_object<queue_pair>;

/// Moves a queue pair to INIT, RTR, RTS, ERROR or RESET. Errors: driver_error::bad_state (there is
/// no such transition from the present state), and those of check_port() and write_path(). The
/// other transitions are those of change_queue_pair.
/// A transition to RESET drops the completions of the queue pair that were not polled, and empties
/// its rings. From RESET to RESET, no command is sent, because the firmware would refuse it, and
/// the outcome is ok. There is no transition from RESET to ERROR. Both are as in Linux 6.1
/// hw/mlx4/qp.c _mlx4_ib_modify_qp, core/verbs.c qp_state_table.
class modify_queue_pair : public object_operation {
 public:
  modify_queue_pair() = default;
  ~modify_queue_pair() { drop(); }

  void start(verbs& owner, qp_handle queue, layouts::qp_state to,
             const connection_attributes& attributes = {});

 protected:
  /// Sends a transition to INIT, RTR or RTS.
  void send(queue_pair& pair, layouts::qp_state to, const layouts::image<layouts::qpc>& context,
            std::uint32_t optional_fields);
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::any_qp_transition> transition_{layouts::opcode::rst2init_qp,
                                                            std::uint32_t{0}};
  layouts::qp_state to_ = layouts::qp_state::reset;

 private:
  command plain_;
};

/// Reads the context of a queue pair from the device. Fails with driver_error::bad_state if the
/// queue pair is in RESET, because the device does not have it then. The driver takes over the
/// states ERROR and SQE, and the drained state. report_of() decodes the context.
class query_queue_pair : public object_operation {
 public:
  query_queue_pair() = default;
  ~query_queue_pair() { drop(); }

  void start(verbs& owner, qp_handle queue);
  layouts::image<layouts::qpc> context() const { return layouts::context_of(query_.output); }

 private:
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::query_qp> query_{std::uint32_t{0}};
};

}  // namespace freehca
