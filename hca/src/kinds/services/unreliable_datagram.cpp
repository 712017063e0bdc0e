// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/ib_types.hpp>

#include "services.hpp"

namespace freehca::services {

using namespace layouts;

namespace {

bool check(const connection_attributes& a, qp_state to, const capabilities&) {
  return to != qp_state::rts || a.send_psn <= psn_mask;
}

std::uint32_t fill(image<qpc>& c, const connection_attributes& a, qp_state to,
                   const capabilities& can) {
  switch (to) {
    case qp_state::init:
      c.set<&qpc::qkey>(a.qkey);
      return qp_optpar::pkey_index | qp_optpar::qkey;
    case qp_state::rtr:
      // Linux 6.1 takes the largest MTU, and messages of 2^13 bytes: a packet with its GRH. The
      // port's MTU is what bounds a datagram.
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

extern const queue_pair_service unreliable_datagram{
    .code = qp_service::ud,
    .header_bytes = queues::datagram_header_bytes,
    .most_message_bytes = 4096,
    .opcodes = [](const capabilities&) { return queues::opcodes_of_datagrams(); },
    .check = check,
    .fill = fill,
};

}  // namespace freehca::services
