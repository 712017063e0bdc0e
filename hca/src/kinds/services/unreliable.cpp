// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Unreliable connections and unreliable datagrams.
#include <freehca/layouts/ib_types.hpp>

#include "services.hpp"

namespace freehca::services {

using namespace layouts;

namespace {

bool check_connection(const connection_attributes& a, qp_state to, const capabilities&) {
  if (to == qp_state::rtr) return is_peer(a);
  return to != qp_state::rts || a.send_psn <= psn_mask;
}

bool check_datagrams(const connection_attributes& a, qp_state to, const capabilities&) {
  return to != qp_state::rts || a.send_psn <= psn_mask;
}

std::uint32_t fill_connection(image<qpc>& c, const connection_attributes& a, qp_state to,
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

std::uint32_t fill_datagrams(image<qpc>& c, const connection_attributes& a, qp_state to,
                             const capabilities& can) {
  switch (to) {
    case qp_state::init:
      c.set<&qpc::qkey>(a.qkey);
      return qp_optpar::pkey_index | qp_optpar::qkey;
    case qp_state::rtr:
      // As in Linux 6.1: the largest MTU, and messages of 2^13 bytes, which is a packet with its
      // GRH. The MTU of the port limits a datagram.
      c.set<&qpc::mtu>(ib_mtu::mtu_4096).set<&qpc::msg_max>(13);
      c.set<&primary_path::sched_queue>(sched_queue_ib(a.address.port, 0));
      set_counter(c, can);
      return qp_optpar::pkey_index;
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
    .check = check_connection,
    .fill = fill_connection,
};

extern const queue_pair_service unreliable_datagram{
    .code = qp_service::ud,
    .header_bytes = queues::datagram_header_bytes,
    .most_message_bytes = 4096,
    .opcodes = [](const capabilities&) { return queues::opcodes_of_datagrams(); },
    .check = check_datagrams,
    .fill = fill_datagrams,
};

}  // namespace freehca::services
