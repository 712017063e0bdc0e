// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <endian.h>

#include <string>
#include <vector>

#include "linux_program.hpp"

namespace freehca::bench {
namespace {

constexpr unsigned atomic_bytes = 8, pieces = 4, many = 32;

// Each poll finds one receive.
template <class Look>
[[gnu::noinline]] std::uint64_t count_received(ibv_cq* of, unsigned n, Look look) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i) {
    if (ibv_poll_cq(of, 1, done) != 1) fail("completions are missing");
    if (done->status != IBV_WC_SUCCESS || !look(*done)) fail("a receive failed");
  }
  return executed() - began;
}

// Each poll finds a whole batch.
[[gnu::noinline]] std::uint64_t count_times(ibv_cq_ex* of, unsigned n, unsigned batch) {
  const std::uint64_t began = executed();
  std::uint64_t last = 0;
  ibv_poll_cq_attr all{};
  for (unsigned i = 0; i < n; i += batch) {
    if (ibv_start_poll(of, &all) != 0) fail("completions are missing");
    for (unsigned k = 1;; ++k) {
      if (of->status != IBV_WC_SUCCESS) fail("a request failed");
      last = ibv_wc_read_completion_ts(of);
      if (k == batch) break;
      if (ibv_next_poll(of) != 0) fail("completions are missing");
    }
    ibv_end_poll(of);
    if (last == 0) fail("a completion has no time");
  }
  return executed() - began;
}

[[gnu::noinline]] std::uint64_t count_binds(ibv_qp* to, ibv_mw* window, ibv_mw_bind* binding,
                                            unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i) {
    binding->wr_id = i;
    if (ibv_bind_mw(to, window, binding) != 0) fail("ibv_bind_mw");
  }
  return executed() - began;
}

void tell_rows(const char* post, const char* poll, const request_cost& c) {
  tell(post, c.post);
  tell(poll, c.poll);
}

// Posts n requests and polls their completions from `in.sent`.
round_cost round(const device& in, ibv_qp* to, requests& r, unsigned n) {
  round_cost c;
  c.post = count_posts(to, r.sends.data(), n, 1);
  let_device_work();
  c.poll = count_polls(in.sent, done, n, 1);
  return c;
}

void reads_and_atomics(const device& in, ibv_qp* q) {
  const auto tell_of = [&](const char* post, const char* poll, requests& r) {
    unknown_memory(&r);
    tell_rows(post, poll, for_each_request([&](unsigned n) { return round(in, q, r, n); }));
  };
  requests reads(in, IBV_WR_RDMA_READ, 1, 0);
  tell_of("post of an RDMA read", "poll of an RDMA read", reads);
  requests swaps(in, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0), adds(in, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
  for (unsigned i = 0; i < ring; ++i) {
    swaps.from[i].length = adds.from[i].length = atomic_bytes;
    swaps.sends[i].wr.atomic = {
        .remote_addr = swaps.into[i].addr, .compare_add = 1, .swap = i, .rkey = in.region->rkey};
    adds.sends[i].wr.atomic = {
        .remote_addr = adds.into[i].addr, .compare_add = 1, .swap = 0, .rkey = in.region->rkey};
  }
  tell_of("post of a compare-and-swap", "poll of a compare-and-swap", swaps);
  tell_of("post of a fetch-and-add", "poll of a fetch-and-add", adds);
}

void gathered(const device& in) {
  ibv_qp* const q = connected(in, make(in, ring, message_bytes, nullptr, IBV_QPT_RC, pieces));
  requests r(in, IBV_WR_RDMA_WRITE, 1, IBV_SEND_INLINE);
  ibv_sge from[pieces];
  for (unsigned k = 0; k < pieces; ++k)
    from[k] = {reinterpret_cast<std::uintptr_t>(memory) + k * (message_bytes / pieces),
               message_bytes / pieces, in.region->lkey};
  for (ibv_send_wr& w : r.sends) {
    w.sg_list = from;
    w.num_sge = pieces;
  }
  unknown_memory(from);
  tell("post, 64 bytes inline in 4 pieces",
       for_each_request([&](unsigned n) { return round(in, q, r, n); }).post);
  destroy(q);
}

// `prepare` comes before each round. post: of the requests; poll: of their receives.
template <class PostReceives, class Look, class Prepare>
request_cost received(const device& in, ibv_qp* from, requests& r, PostReceives post, Look look,
                      Prepare prepare) {
  return for_each_request([&](unsigned n) {
    prepare(n);
    post(n);
    round_cost c = round(in, from, r, n);
    c.poll = count_received(in.received, n, look);
    return c;
  });
}

void immediates(const device& in, ibv_qp* q) {
  requests r(in, IBV_WR_SEND_WITH_IMM, 1, 0);
  for (ibv_send_wr& w : r.sends) w.imm_data = htobe32(77);
  unknown_memory(&r);
  tell_rows("post of a send with immediate data", "poll of a receive with immediate data",
            received(
                in, q, r, [&](unsigned n) { count_receives(q, r.receives.data(), n); },
                [](const ibv_wc& w) {
                  return (w.wc_flags & IBV_WC_WITH_IMM) != 0 && be32toh(w.imm_data) == 77;
                },
                [](unsigned) {}));
}

ibv_mw* window(const device& in, ibv_mw_type type) {
  ibv_mw* const w = ibv_alloc_mw(in.domain, type);
  if (w == nullptr) fail("ibv_alloc_mw");
  return w;
}

void release(ibv_mw* w) {
  if (ibv_dealloc_mw(w) != 0) fail("ibv_dealloc_mw");
}

void windows(const device& in, ibv_qp* q) {
  const ibv_mw_bind_info whole{.mr = in.region,
                               .addr = reinterpret_cast<std::uintptr_t>(memory),
                               .length = region_bytes,
                               .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ibv_mw* const one = window(in, IBV_MW_TYPE_1);
  ibv_mw_bind binding{.wr_id = 0, .send_flags = IBV_SEND_SIGNALED, .bind_info = whole};
  tell_rows("post of a bind of a type 1 window", "poll of a bind of a type 1 window",
            for_each_request([&](unsigned n) {
              round_cost c;
              c.post = count_binds(q, one, &binding, n);
              let_device_work();
              c.poll = count_polls(in.sent, done, n, 1);
              return c;
            }));
  release(one);

  std::vector<ibv_mw*> two;
  for (unsigned i = 0; i < ring; ++i) two.push_back(window(in, IBV_MW_TYPE_2));
  requests binds(in, IBV_WR_BIND_MW, 1, 0), ends(in, IBV_WR_LOCAL_INV, 1, 0),
      sends(in, IBV_WR_SEND_WITH_INV, 1, 0);
  for (unsigned i = 0; i < ring; ++i) {
    binds.sends[i].num_sge = ends.sends[i].num_sge = 0;
    binds.sends[i].bind_mw = {.mw = two[i], .rkey = two[i]->rkey, .bind_info = whole};
  }
  const auto bind = [&](unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      const std::uint32_t key = ibv_inc_rkey(binds.sends[i].bind_mw.rkey);
      binds.sends[i].bind_mw.rkey = ends.sends[i].invalidate_rkey = sends.sends[i].invalidate_rkey =
          key;
    }
    unknown_memory(&binds);
    return round(in, q, binds, n);
  };
  tell_rows("post of a bind of a type 2 window", "poll of a bind of a type 2 window",
            for_each_request([&](unsigned n) {
              const round_cost c = bind(n);
              round(in, q, ends, n);
              return c;
            }));
  tell_rows("post of a local invalidate", "poll of a local invalidate",
            for_each_request([&](unsigned n) {
              bind(n);
              return round(in, q, ends, n);
            }));
  tell_rows("post of a send with invalidate", "poll of a receive with invalidate",
            received(
                in, q, sends, [&](unsigned n) { count_receives(q, sends.receives.data(), n); },
                [](const ibv_wc& w) { return (w.wc_flags & IBV_WC_WITH_INV) != 0; }, bind));
  for (ibv_mw* const w : two) release(w);
}

void datagrams(const device& in) {
  ibv_qp* const q = datagram_queue(in);
  ibv_ah_attr way{};
  way.dlid = in.port.lid;
  way.port_num = 1;
  ibv_ah* const address = ibv_create_ah(in.domain, &way);
  if (address == nullptr) fail("ibv_create_ah");
  requests r(in, IBV_WR_SEND, 1, 0);
  for (ibv_send_wr& w : r.sends) w.wr.ud = {address, q->qp_num, 0x1234};
  unknown_memory(&r);
  const auto post = [&](unsigned n) { count_receives(q, r.receives.data(), n); };
  tell_rows("post of a datagram", "poll of a datagram's send", for_each_request([&](unsigned n) {
              post(n);
              const round_cost c = round(in, q, r, n);
              count_polls(in.received, done, n, 1);
              return c;
            }));
  tell("poll of a datagram's receive", received(
                                           in, q, r, post,
                                           [number = q->qp_num](const ibv_wc& w) {
                                             return w.src_qp == number &&
                                                    (w.wc_flags & IBV_WC_GRH) == 0;
                                           },
                                           [](unsigned) {})
                                           .poll);
  destroy(q);
  if (ibv_destroy_ah(address) != 0) fail("ibv_destroy_ah");
}

void extended_connection(const device& in) {
  const extended_domain shared(in);
  ibv_srq* const queue = shared.receive_queue(in, ring);
  ibv_qp* const target = shared.target(in);
  ibv_qp* const initiator = make(in, ring, 0, nullptr, IBV_QPT_XRC_SEND);
  connect(target, in.port, initiator->qp_num);
  connect(initiator, in.port, target->qp_num);
  std::uint32_t number = 0;
  if (ibv_get_srq_num(queue, &number) != 0) fail("ibv_get_srq_num");
  requests r(in, IBV_WR_SEND, 1, 0);
  for (ibv_send_wr& w : r.sends) w.qp_type.xrc.remote_srqn = number;
  unknown_memory(&r);
  tell_rows("post of an XRC send", "poll of an XRC receive",
            received(
                in, initiator, r,
                [&](unsigned n) {
                  ibv_recv_wr* bad = nullptr;
                  for (unsigned i = 0; i < n; ++i)
                    if (ibv_post_srq_recv(queue, &r.receives[i], &bad) != 0)
                      fail("ibv_post_srq_recv");
                },
                [](const ibv_wc&) { return true; }, [](unsigned) {}));
  destroy(initiator);
  destroy(target);
  if (ibv_destroy_srq(queue) != 0) fail("ibv_destroy_srq");
}

void timestamps(const device& in) {
  ibv_cq_init_attr_ex a{};
  a.cqe = 2 * ring;
  a.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const times = ibv_create_cq_ex(in.context, &a);
  if (times == nullptr) fail("ibv_create_cq_ex");
  device with = in;
  with.sent = ibv_cq_ex_to_cq(times);
  ibv_qp* const q = connected(with, make(with, ring, 0));
  requests r(in, IBV_WR_RDMA_WRITE, 1, 0);
  for (const unsigned batch : {1u, many}) {
    const std::string row = "poll with a timestamp, batches of " + std::to_string(batch);
    tell(row.c_str(), for_each_request([&](unsigned n) {
                        round_cost c;
                        count_posts(q, r.sends.data(), n, 1);
                        let_device_work();
                        c.poll = count_times(times, n, batch);
                        return c;
                      }).poll);
  }
  destroy(q);
  if (ibv_destroy_cq(with.sent) != 0) fail("ibv_destroy_cq");
}

}  // namespace

void measure_requests(const device& in) {
  ibv_qp* const q = connected(in, make(in, ring, message_bytes));
  reads_and_atomics(in, q);
  gathered(in);
  immediates(in, q);
  windows(in, q);
  destroy(q);
  datagrams(in);
  extended_connection(in);
  timestamps(in);
}

}  // namespace freehca::bench
