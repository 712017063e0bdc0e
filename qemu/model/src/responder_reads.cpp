// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The responder: RDMA reads and atomics.
#include <algorithm>
#include <array>

#include "host_order.hpp"
#include "responder.hpp"
#include "transport_parts.hpp"

namespace freehca::model {

using namespace layouts;

using message = receive_side::message;

void responder::read(queue_pair& qp, request_packet& p, bool repeated) {
  receive_side& rq = qp.rq;
  const std::uint32_t psn = p.view.psn();
  const auto range = p.view.take<reth>();
  if (!range || (!repeated && rq.in_progress != message::none) || !qp.reliable()) {
    if (!repeated) refuse(qp, psn, nak_code::invalid_request, event_type::wq_invalid_request_error);
    return;
  }
  const auto waiting = static_cast<std::size_t>(
      std::count_if(rq.responses.begin(), rq.responses.end(),
                    [](const response& r) { return r.what != response::kind::acknowledge; }));
  if (repeated ? waiting >= responses_max
               : waiting >= (std::size_t{1} << qp.context.get<&qpc::rra_max>())) {
    if (!repeated) refuse(qp, psn, nak_code::invalid_request, event_type::wq_invalid_request_error);
    return;
  }
  response r;
  r.what = response::kind::read;
  r.psn = psn;
  r.pd = rq.remote_pd;
  r.address = range->get<&reth::virtual_address>();
  r.rkey = static_cast<std::uint32_t>(range->get<&reth::rkey>());
  r.left = static_cast<std::uint32_t>(range->get<&reth::dma_length>());
  const bool allowed =
      qp.context.get<&qpc::rre>() != 0 && r.left <= qp.message_bytes_max &&
      (r.left == 0 || t_.a.regions->check(r.rkey, qp.rq.remote_pd, access::remote_read, r.address,
                                          r.left, qp.mtu) == access_result::ok);
  if (!allowed) {
    refuse(qp, psn, nak_code::remote_access_error, event_type::wq_access_violation);
    return;
  }
  if (!repeated) {
    const std::uint32_t packets = r.left == 0 ? 1 : (r.left - 1) / qp.mtu + 1;
    rq.expected_psn = psn_add(psn, packets);
    rq.msn = psn_add(rq.msn, 1);
  }
  r.msn = rq.msn;
  t_.replies.add(qp, r);
}

void responder::atomic(queue_pair& qp, request_packet& p) {
  receive_side& rq = qp.rq;
  const std::uint32_t psn = p.view.psn();
  const auto operands = p.view.take<atomic_eth>();
  const std::uint64_t address = operands ? operands->get<&atomic_eth::virtual_address>() : 1;
  if (!operands || address % 8 != 0 || rq.in_progress != message::none || !qp.reliable()) {
    refuse(qp, psn, nak_code::invalid_request, event_type::wq_invalid_request_error);
    return;
  }
  const auto rkey = static_cast<std::uint32_t>(operands->get<&atomic_eth::rkey>());
  std::array<std::byte, 8> bytes;
  if (qp.context.get<&qpc::rae>() == 0 ||
      t_.a.regions->read(rkey, qp.rq.remote_pd, false, access::remote_atomic, address, bytes.data(),
                         bytes.size()) != access_result::ok) {
    refuse(qp, psn, nak_code::remote_access_error, event_type::wq_access_violation);
    return;
  }
  const std::uint64_t original = from_little_endian(bytes);
  const std::uint64_t swap_add = operands->get<&atomic_eth::swap_add>();
  const bool swap = p.operation == bth_operation::compare_swap;
  const std::uint64_t result = !swap ? original + swap_add
                               : original == operands->get<&atomic_eth::compare>() ? swap_add
                                                                                   : original;
  bytes = little_endian_bytes(result);
  if (t_.a.regions->write(rkey, qp.rq.remote_pd, false, access::remote_atomic, address,
                          bytes.data(), bytes.size()) != access_result::ok) {
    refuse(qp, psn, nak_code::remote_access_error, event_type::wq_access_violation);
    return;
  }
  rq.expected_psn = psn_add(psn, 1);
  rq.msn = psn_add(rq.msn, 1);
  rq.atomics.push_back({psn, original});
  if (rq.atomics.size() > (std::size_t{1} << qp.context.get<&qpc::rra_max>()))
    rq.atomics.pop_front();
  response r;
  r.what = response::kind::atomic;
  r.psn = psn;
  r.msn = rq.msn;
  r.original = original;
  t_.replies.add(qp, r);
}

}  // namespace freehca::model
