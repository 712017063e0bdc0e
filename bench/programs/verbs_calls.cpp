// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_verbs_calls TIMES: posts TIMES RDMA writes of 64 bytes on an RC queue pair that is
// connected to another one of this process, and polls for each completion by a call of its own once
// all have ended. Valgrind counts within counted_post(), counted_poll() and counted_empty_poll().
#include <infiniband/verbs.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
[[gnu::noinline]] int counted_post(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
[[gnu::noinline]] int counted_poll(ibv_cq* cq, ibv_wc* to);
[[gnu::noinline]] int counted_empty_poll(ibv_cq* cq, ibv_wc* to);
}

int counted_post(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  const int error = ibv_post_send(qp, request, bad);
  asm volatile("" : : : "memory");
  return error;
}
int counted_poll(ibv_cq* cq, ibv_wc* to) {
  const int got = ibv_poll_cq(cq, 1, to);
  asm volatile("" : : : "memory");
  return got;
}
int counted_empty_poll(ibv_cq* cq, ibv_wc* to) {
  const int got = ibv_poll_cq(cq, 1, to);
  asm volatile("" : : : "memory");
  return got;
}

namespace {

constexpr unsigned deep = 64;
alignas(4096) std::byte memory[4096];

struct endpoint {
  ibv_qp* pair = nullptr;

  bool create(ibv_pd* domain, ibv_cq* completions) {
    ibv_qp_init_attr how{};
    how.send_cq = how.recv_cq = completions;
    how.cap = {deep, 1, 1, 1, 0};
    how.qp_type = IBV_QPT_RC;
    how.sq_sig_all = 1;
    pair = ibv_create_qp(domain, &how);
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = 1;
    to.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    return pair != nullptr &&
           ibv_modify_qp(pair, &to,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
  }
  bool connect(std::uint32_t qpn, std::uint16_t lid) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = IBV_MTU_2048;
    to.dest_qp_num = qpn;
    to.max_dest_rd_atomic = 1;
    to.ah_attr.dlid = lid;
    to.ah_attr.port_num = 1;
    if (ibv_modify_qp(pair, &to,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
      return false;
    to.qp_state = IBV_QPS_RTS;
    to.timeout = 0;
    to.retry_cnt = to.rnr_retry = 7;
    to.max_rd_atomic = 1;
    return ibv_modify_qp(pair, &to,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
  }
};

int fail(const char* what) {
  std::fprintf(stderr, "freehca_bench_verbs_calls: %s failed\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned times = argc == 2 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
  if (times == 0) return fail("reading TIMES");
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_context* const device =
      list != nullptr && *list != nullptr ? ibv_open_device(*list) : nullptr;
  if (device == nullptr) return fail("ibv_open_device");
  ibv_port_attr port{};
  ibv_pd* const domain = ibv_alloc_pd(device);
  ibv_cq* const completions = ibv_create_cq(device, 2 * deep, nullptr, nullptr, 0);
  ibv_cq* const other = ibv_create_cq(device, 2 * deep, nullptr, nullptr, 0);
  ibv_mr* const region =
      ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (completions == nullptr || other == nullptr || region == nullptr) return fail("creation");
  if (ibv_query_port(device, 1, &port) != 0) return fail("ibv_query_port");
  endpoint from, to;
  if (!from.create(domain, completions) || !to.create(domain, other) ||
      !from.connect(to.pair->qp_num, port.lid) || !to.connect(from.pair->qp_num, port.lid))
    return fail("connection");

  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory), 64, region->lkey};
  ibv_send_wr request{}, *bad = nullptr;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma.remote_addr = piece.addr + 2048;
  request.wr.rdma.rkey = region->rkey;
  ibv_wc done{};
  for (unsigned i = 0; i < times;) {
    const unsigned some = std::min(deep, times - i);
    for (unsigned k = 0; k < some; ++k)
      if (counted_post(from.pair, &request, &bad) != 0) return fail("ibv_post_send");
    // Long enough for the completions: these polls of another queue run the adapter.
    for (unsigned k = 0; k < 20 * deep; ++k) ibv_poll_cq(other, 1, &done);
    for (unsigned k = 0; k < some; ++k)
      if (counted_poll(completions, &done) != 1 || done.status != IBV_WC_SUCCESS)
        return fail("ibv_poll_cq");
    for (unsigned k = 0; k < some; ++k)
      if (counted_empty_poll(completions, &done) != 0) return fail("ibv_poll_cq of an empty queue");
    i += some;
  }
  return 0;
}
