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
  layouts::qp_service service = layouts::qp_service::rc;  ///< or uc, ud
  std::uint32_t sends = 0;     ///< requests outstanding at the same time, at least
  std::uint32_t receives = 0;  ///< 0 with `shared`
  srq_handle shared{};         ///< where receives come from; none: a queue of its own
  unsigned gather = 1;         ///< entries of one request
  unsigned scatter = 1;
  std::uint32_t inline_bytes = 0;
  void* cookie = nullptr;  ///< comes with its events
  /// Room for queues::masked_compare_and_swap, and leave to post masked atomics.
  /// driver_error::unsupported: the device, or the service, has none.
  bool masked_atomics = false;
};

/// What a transition needs; all of it may be given to each, and a service looks only at what it
/// has. `bytes` says how much of it the caller knows.
struct connection_attributes {
  std::uint32_t bytes = sizeof(connection_attributes);
  // INIT. The queue pair keeps them: later transitions do not look at them.
  std::uint16_t pkey_index = 0;
  bool remote_read = false, remote_write = false, remote_atomic = false;
  std::uint32_t qkey = 0;  ///< datagrams: what packets have to bring
  // RTR
  layouts::ib_mtu path_mtu = layouts::ib_mtu::mtu_1024;
  std::uint8_t min_rnr_timer = 0;  ///< IBTA code
  std::uint32_t remote_qpn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t reads_as_responder = 1;  ///< rounded up to a power of two
  address_attributes address{};          ///< `port` from INIT on
  // RTS
  std::uint32_t send_psn = 0;
  std::uint32_t reads_as_requester = 1;  ///< rounded down to a power of two
  std::uint8_t retry_count = 7;          ///< 0 to 7
  std::uint8_t rnr_retry = 7;            ///< 7: for ever
  std::uint8_t ack_timeout = 14;         ///< 4.096 us * 2^n; 0: never
  std::uint8_t log_ack_request =
      8;  ///< a request for an ACK each 2^n packets (Linux: MLX4_IB_ACK_REQ_FREQ)
};

struct queue_pair : queue_object {
  using attributes = queue_pair_attributes;
  using creating = nothing;
  static constexpr kind_facts facts{.name = "queue pair",
                                    .item = 0x47,
                                    .numbers = &number_spaces::qps,
                                    .group = context_group::qp,
                                    .destroying = taking_back<commands::to_rst_qp>};

  queues::qp_rings rings;  ///< posts
  queues::sq_shape send_shape;
  queues::rq_shape receive_shape;
  const queue_pair_service* service = nullptr;
  const protection_domain* domain = nullptr;
  completion_queue* send_cq = nullptr;
  completion_queue* receive_cq = nullptr;
  shared_receive_queue* shared = nullptr;
  /// As the driver knows it: transitions, and errors that events or completions told of, once they
  /// were polled. A send error of an unreliable service moves it to sq_error, where receives go on
  /// and posts of sends are refused.
  layouts::qp_state qp_state = layouts::qp_state::reset;
  bool state_unknown = false;  ///< a transition was not answered, and may still take effect
  // Given at INIT, and written again by the transition to RTR.
  std::uint16_t pkey_index = 0;
  bool remote_read = false, remote_write = false, remote_atomic = false;
  layouts::qp_state moving_to = layouts::qp_state::reset;  ///< the last transition's target

  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
  void suspend();
  /// Posting is what the state permits: nothing while it is not known.
  void resume();
  /// The transition to `moving_to` was carried out, or was refused.
  void settle_change(bool done);
  void notice(verbs& in, const object_event& event);
  void end_requests(verbs& in, status why);
  /// Drops the completions that nobody has polled.
  void forget_completions();

 private:
  status open_rings(verbs& in, const attributes& a);
  static void request_failed(queues::qp_rings& rings, bool sent) noexcept;
};
static_assert(sizeof(void*) != 8 || sizeof(queue_pair) == 656);

/// 0 for a stale handle.
inline std::uint32_t qpn_of(const verbs& in, qp_handle h) {
  const queue_pair* const pair = in.find(h);
  return pair != nullptr ? pair->number : 0;
}

/// Makes a queue pair in the RESET state.
using create_queue_pair = create_object<queue_pair>;
/// Resets a queue pair and takes it back. Completions that nobody has polled are dropped. Posts
/// are refused from the start on; where the firmware refuses the reset, or the operation is
/// cancelled before the firmware has it, the queue pair is there as before, and takes them again.
using destroy_queue_pair = destroy_object<queue_pair>;

/// Moves a queue pair to INIT, RTR, RTS, ERROR or RESET. driver_error::bad_state: no such
/// transition from where it is; ::unsupported: the port is not an InfiniBand port. To RESET: its
/// completions that nobody has polled are dropped, its rings begin anew. From RESET to RESET there
/// is nothing to do, and no command: firmware would refuse it. From RESET to ERROR there is no
/// transition (both as Linux 6.1 hw/mlx4/qp.c _mlx4_ib_modify_qp, core/verbs.c qp_state_table).
class modify_queue_pair : public object_operation {
 public:
  modify_queue_pair() = default;
  ~modify_queue_pair() { drop(); }

  void start(verbs& owner, qp_handle queue, layouts::qp_state to,
             const connection_attributes& attributes = {});

 private:
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::any_qp_transition> transition_{layouts::opcode::rst2init_qp,
                                                            std::uint32_t{0}};
  command plain_;
  layouts::qp_state to_ = layouts::qp_state::reset;
};

/// Reads the context as the device has it.
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
