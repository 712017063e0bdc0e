// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "work_completions.hpp"

#include "completion_queues.hpp"
#include "transport_parts.hpp"

namespace freehca::model {

using namespace layouts;

void work_completions::sent(const queue_pair& qp, const send_request& r) {
  if (!r.signaled) return;
  image<cqe> e;
  e.set<&cqe::qpn>(qp.number())
      .set<&cqe::remote_qpn>(qp.context.get<&qpc::remote_qpn>())
      .set<&cqe::wqe_index>(r.index)
      .set<&cqe::is_send>(true)
      .set<&cqe::opcode>(static_cast<std::uint64_t>(r.opcode));
  if (r.expects_response()) e.set<&cqe::byte_count>(r.data.size() & 0xffffffff);
  t_.a.cqs->complete(qp.send_cqn, e, false);
}

std::uint32_t work_completions::receive_cq(const queue_pair& qp, const receive_request& r) {
  // XRC: the CQ is the shared queue's (illumos hermon_hw.h, srqc cqn_xrc).
  return qp.service == qp_service::xrc ? t_.shared.completion_queue(r.srqn) : qp.receive_cqn;
}

void work_completions::received(const queue_pair& qp, const receive_request& r,
                                const receive_report& report) {
  image<cqe> e;
  e.set<&cqe::qpn>(qp.number())
      .set<&cqe::immediate>(report.immediate)
      .set<&cqe::grh>(report.global)
      .set<&cqe::my_lid_path>(report.path_bits & 0x7f)
      .set<&cqe::remote_qpn>(qp.service == qp_service::xrc ? r.srqn : report.remote_qpn)
      .set<&cqe::sl>(report.sl & 0xf)
      .set<&cqe::slid>(report.slid)
      .set<&cqe::byte_count>(report.byte_count)
      .set<&cqe::wqe_index>(r.index)
      .set<&cqe::opcode>(static_cast<std::uint64_t>(report.opcode));
  t_.a.cqs->complete(receive_cq(qp, r), e, report.solicited);
}

void work_completions::failed(const queue_pair& qp, std::uint32_t cqn, std::uint16_t index,
                              bool send, std::uint32_t srqn, failure why) {
  image<cqe_error> e;
  e.set<&cqe_error::qpn>(qp.number())
      .set<&cqe_error::wqe_index>(index)
      .set<&cqe_error::vendor_syndrome>(why.vendor)
      .set<&cqe_error::syndrome>(why.syndrome)
      .set<&cqe_error::is_send>(send)
      .set<&cqe_error::opcode>(cqe_opcode::error);
  auto entry = image<cqe>::from_bytes(e.data());
  // Linux finds an XRC receive's queue by this field in error entries too (hw/mlx4/cq.c mlx4_ib_poll_one).
  entry.set<&cqe::remote_qpn>(srqn);
  t_.a.cqs->complete(cqn, entry, true, qp.way.port);
}

void work_completions::send_failed(const queue_pair& qp, const send_request& r, failure why) {
  if (!r.no_error_completion) failed(qp, qp.send_cqn, r.index, true, 0, why);
}

void work_completions::receive_failed(const queue_pair& qp, const receive_request& r, failure why) {
  failed(qp, receive_cq(qp, r), r.index, false, qp.service == qp_service::xrc ? r.srqn : 0, why);
}

}  // namespace freehca::model
