// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/bit_operations.hpp>

#include "services.hpp"

namespace freehca::services {

using namespace layouts;

namespace {

// The context has the logarithm of the number of reads and atomics that may be outstanding. The
// responder's number is rounded up, as in Linux (6.1 hw/mlx4/qp.c __mlx4_ib_modify_qp), because the
// responder must serve as many as the caller promised to the peer. The requester's number is
// rounded down, because the peer may not have promised more than the caller requests. (Linux rounds
// the requester's number up too.)
unsigned log_as_responder(std::uint32_t n) {
  return n <= 1 ? 0 : layouts::bit_width(n - 1);
}
unsigned log_as_requester(std::uint32_t n) {
  return n <= 1 ? 0 : layouts::bit_width(n) - 1;
}

bool check(const connection_attributes& a, qp_state to, const capabilities& can) {
  if (to == qp_state::rtr)
    return is_peer(a) && a.min_rnr_timer < 32 &&
           a.reads_as_responder <= can.most_reads_as_responder;
  if (to == qp_state::rts)
    return a.send_psn <= psn_mask && a.reads_as_requester <= can.most_reads_as_requester &&
           a.retry_count < 8 && a.rnr_retry < 8 && a.ack_timeout < 32 && a.log_ack_request < 16;
  return true;
}

void set_rights(image<qpc>& c, const connection_attributes& a) {
  // If the responder has no resources for reads and atomics, these are not permitted (Linux 6.1
  // to_mlx4_access_flags).
  const bool answers = a.reads_as_responder != 0;
  c.set<&qpc::rwe>(a.remote_write)
      .set<&qpc::rre>(a.remote_read && answers)
      .set<&qpc::rae>(a.remote_atomic && answers);
}

std::uint32_t fill(image<qpc>& c, const connection_attributes& a, qp_state to,
                   const capabilities& can) {
  constexpr std::uint32_t rights = qp_optpar::rre | qp_optpar::rwe | qp_optpar::rae;
  switch (to) {
    case qp_state::init:
      set_rights(c, a);
      return qp_optpar::pkey_index | rights;
    case qp_state::rtr:
      set_peer(c, a, can);
      c.set<&qpc::min_rnr_nak>(a.min_rnr_timer);
      c.set<&qpc::rra_max>(log_as_responder(a.reads_as_responder));
      set_rights(c, a);
      return qp_optpar::primary_path | qp_optpar::sched_queue | qp_optpar::pkey_index |
             qp_optpar::rra_max | qp_optpar::min_rnr_nak | rights;
    default:
      c.set<&qpc::next_send_psn>(a.send_psn);
      c.set<&qpc::sra_max>(log_as_requester(a.reads_as_requester));
      c.set<&qpc::retry_count>(a.retry_count).set<&qpc::rnr_retry>(a.rnr_retry);
      c.set<&primary_path::ack_timeout>(a.ack_timeout).set<&qpc::ack_req_freq>(a.log_ack_request);
      return qp_optpar::sra_max | qp_optpar::retry_count | qp_optpar::rnr_retry |
             qp_optpar::ack_timeout;
  }
}

}  // namespace

extern const queue_pair_service reliable_connection{
    .code = qp_service::rc,
    .header_bytes = queues::rdma_header_bytes,
    .most_message_bytes = 0,
    .opcodes =
        [](const capabilities& can) {
          return queues::opcodes_of_a_connection(can.has(dev_cap_flag::atomic)) |
                 memory_opcodes(can) |
                 (can.has(dev_cap_flag::atomic) ? queues::opcodes_of_masked_atomics() : 0) |
                 (can.has(bmme_flag::remote_invalidate) ? queues::opcode_bit(wqe_opcode::send_inval)
                                                        : 0);
        },
    .check = check,
    .fill = fill,
};

}  // namespace freehca::services
