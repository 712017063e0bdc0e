// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "services.hpp"

namespace freehca::services {

using namespace layouts;

namespace {

bool check(const connection_attributes& a, qp_state to, const capabilities&) {
  if (to == qp_state::rtr) return is_peer(a);
  return to != qp_state::rts || a.send_psn <= psn_mask;
}

std::uint32_t fill(image<qpc>& c, const connection_attributes& a, qp_state to,
                   const capabilities& can) {
  switch (to) {
    case qp_state::init:
      c.set<&qpc::rwe>(a.remote_write);
      return qp_optpar::pkey_index | qp_optpar::rwe;
    case qp_state::rtr:
      set_peer(c, a, can);
      c.set<&qpc::rwe>(a.remote_write);
      return qp_optpar::primary_path | qp_optpar::sched_queue | qp_optpar::pkey_index |
             qp_optpar::rwe;
    default:
      c.set<&qpc::next_send_psn>(a.send_psn);
      return 0;
  }
}

}  // namespace

extern const queue_pair_service unreliable_connection{
    .code = qp_service::uc,
    .header_bytes = queues::rdma_header_bytes,
    .most_message_bytes = 0,
    .opcodes =
        [](const capabilities& can) {
          return queues::opcodes_of_an_unreliable_connection() | memory_opcodes(can);
        },
    .check = check,
    .fill = fill,
};

}  // namespace freehca::services
