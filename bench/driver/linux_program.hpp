// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the measurements by libibverbs share: the counted loops, the memory, and queue pairs that
// are their own peers.
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "../linux/own_peer.hpp"
#include "counted.hpp"

namespace freehca::bench {

alignas(4096) inline std::byte memory[region_bytes];
inline ibv_wc done[64];

// ---- What is counted: as a program calls it

[[gnu::noinline]] inline std::uint64_t count_posts(ibv_qp* to, ibv_send_wr* requests, unsigned n,
                                                   unsigned batch) {
  ibv_send_wr* bad = nullptr;
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch)
    if (ibv_post_send(to, requests + i, &bad) != 0) fail("ibv_post_send");
  return executed() - began;
}

[[gnu::noinline]] inline std::uint64_t count_receives(ibv_qp* to, ibv_recv_wr* requests,
                                                      unsigned n) {
  ibv_recv_wr* bad = nullptr;
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i)
    if (ibv_post_recv(to, requests + i, &bad) != 0) fail("ibv_post_recv");
  return executed() - began;
}

[[gnu::noinline]] inline std::uint64_t count_polls(ibv_cq* of, ibv_wc* to, unsigned n,
                                                   unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch) {
    if (ibv_poll_cq(of, static_cast<int>(batch), to) != static_cast<int>(batch))
      fail("completions are missing");
    for (unsigned k = 0; k < batch; ++k)
      if (to[k].status != IBV_WC_SUCCESS) fail("a request failed");
  }
  return executed() - began;
}

// ---- Objects

struct device {
  ibv_context* context = nullptr;
  ibv_port_attr port{};
  ibv_pd* domain = nullptr;
  ibv_mr* region = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* sent = nullptr;
  ibv_cq* received = nullptr;
};

inline ibv_qp* make(const device& in, unsigned requests, unsigned inline_bytes,
                    ibv_srq* shared = nullptr, ibv_qp_type type = IBV_QPT_RC, unsigned gather = 1) {
  const bool receives = shared == nullptr && type != IBV_QPT_XRC_SEND;
  ibv_qp_init_attr a{};
  a.send_cq = in.sent;
  a.recv_cq = receives || shared != nullptr ? in.received : nullptr;
  a.srq = shared;
  a.cap = {.max_send_wr = requests,
           .max_recv_wr = receives ? requests : 0,
           .max_send_sge = gather,
           .max_recv_sge = receives || shared != nullptr ? 1u : 0u,
           .max_inline_data = inline_bytes};
  a.qp_type = type;
  a.sq_sig_all = 0;
  ibv_qp* const q = ibv_create_qp(in.domain, &a);
  if (q == nullptr) fail("ibv_create_qp");
  return q;
}

inline ibv_qp* connected(const device& in, ibv_qp* q) {
  connect_to_itself(q, in.port);
  return q;
}

inline ibv_qp* datagram_queue(const device& in) {
  ibv_qp* const q = make(in, ring, 0, nullptr, IBV_QPT_UD);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qkey = 0x1234;
  if (ibv_modify_qp(q, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
    fail("to INIT");
  a.qp_state = IBV_QPS_RTR;
  if (ibv_modify_qp(q, &a, IBV_QP_STATE) != 0) fail("to RTR");
  a.qp_state = IBV_QPS_RTS;
  if (ibv_modify_qp(q, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0) fail("to RTS");
  return q;
}

/// A domain of extended reliable connections.
class extended_domain {
 public:
  explicit extended_domain(const device& in) : domain_(open(in)) {}
  ~extended_domain() { close(domain_); }
  extended_domain(const extended_domain&) = delete;
  extended_domain& operator=(const extended_domain&) = delete;

  static ibv_xrcd* open(const device& in) {
    ibv_xrcd_init_attr a{};
    a.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    a.fd = -1;
    a.oflags = O_CREAT;
    ibv_xrcd* const domain = ibv_open_xrcd(in.context, &a);
    if (domain == nullptr) fail("ibv_open_xrcd");
    return domain;
  }
  static void close(ibv_xrcd* domain) {
    if (ibv_close_xrcd(domain) != 0) fail("ibv_close_xrcd");
  }

  ibv_srq* receive_queue(const device& in, unsigned receives) const {
    ibv_srq_init_attr_ex a{};
    a.attr = {.max_wr = receives, .max_sge = 1, .srq_limit = 0};
    a.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                  IBV_SRQ_INIT_ATTR_CQ;
    a.srq_type = IBV_SRQT_XRC;
    a.pd = in.domain;
    a.xrcd = domain_;
    a.cq = in.received;
    ibv_srq* const queue = ibv_create_srq_ex(in.context, &a);
    if (queue == nullptr) fail("ibv_create_srq_ex");
    return queue;
  }
  ibv_qp* target(const device& in) const {
    ibv_qp_init_attr_ex a{};
    a.qp_type = IBV_QPT_XRC_RECV;
    a.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    a.xrcd = domain_;
    ibv_qp* const q = ibv_create_qp_ex(in.context, &a);
    if (q == nullptr) fail("ibv_create_qp_ex");
    return q;
  }

 private:
  ibv_xrcd* domain_;
};

struct requests {
  std::array<ibv_sge, ring> from{}, into{};
  std::array<ibv_send_wr, ring> sends{};
  std::array<ibv_recv_wr, ring> receives{};

  requests(const device& in, ibv_wr_opcode opcode, unsigned batch, unsigned flags) {
    const auto base = reinterpret_cast<std::uintptr_t>(memory);
    for (unsigned i = 0; i < ring; ++i) {
      from[i] = {base + i * message_bytes, message_bytes, in.region->lkey};
      into[i] = {base + region_bytes / 2 + i * 128, 128, in.region->lkey};
      sends[i].wr_id = i;
      sends[i].next = (i + 1) % batch != 0 ? &sends[i + 1] : nullptr;
      sends[i].sg_list = &from[i];
      sends[i].num_sge = 1;
      sends[i].opcode = opcode;
      sends[i].send_flags = IBV_SEND_SIGNALED | flags;
      sends[i].wr.rdma.remote_addr = into[i].addr;
      sends[i].wr.rdma.rkey = in.region->rkey;
      receives[i].wr_id = i;
      receives[i].sg_list = &into[i];
      receives[i].num_sge = 1;
    }
    unknown_memory(this);
  }
};

inline void destroy(ibv_qp* q) {
  if (ibv_destroy_qp(q) != 0) fail("ibv_destroy_qp");
}

/// Tells the rows of requests that linux_ibverbs.cpp does not have.
void measure_requests(const device& in);
/// Tells the rows of calls that linux_ibverbs.cpp does not have.
void measure_objects(const device& in, const idler& idle);

}  // namespace freehca::bench
