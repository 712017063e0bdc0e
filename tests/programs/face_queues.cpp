// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Queue pairs: what is refused, and ibv_wr_*.
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>

#include "face.hpp"

namespace programs {

namespace {

constexpr int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

class modified_pair {
 public:
  explicit modified_pair(opened_device& device) : pair_(device, {}) {
    how_.port_num = 1;
    how_.path_mtu = IBV_MTU_1024;
    how_.dest_qp_num = pair_.qp->qp_num;
    how_.ah_attr = path_to(device, pair_.own());
    how_.max_dest_rd_atomic = how_.max_rd_atomic = 1;
  }
  int to(ibv_qp_state state, int mask) {
    how_.qp_state = state;
    return ibv_modify_qp(pair_.qp, &how_, mask);
  }
  void refused(ibv_qp_state state, int mask, const std::string& what) {
    const ibv_qp_state before = pair_.state();
    expect_equal(to(state, mask), EINVAL, what);
    expect_equal(pair_.state(), before, "the state after: " + what);
  }
  ibv_qp_attr& how() { return how_; }

 private:
  endpoint pair_;
  ibv_qp_attr how_{};
};

void wrong_transitions_are_refused(std::uint64_t) {
  opened_device device;
  modified_pair pair(device);
  pair.refused(IBV_QPS_RTR, to_rtr, "RESET to RTR");
  pair.refused(IBV_QPS_RTS, to_rts, "RESET to RTS");
  pair.refused(IBV_QPS_ERR, IBV_QP_STATE, "RESET to ERR");
  pair.refused(IBV_QPS_INIT, to_init & ~IBV_QP_PORT, "RESET to INIT without a port");
  pair.refused(IBV_QPS_INIT, to_init | IBV_QP_QKEY, "RESET to INIT of RC with a Q_Key");
  pair.how().port_num = 2;
  pair.refused(IBV_QPS_INIT, to_init, "RESET to INIT with a port that the device has not");
  pair.how().port_num = 1;
  pair.how().pkey_index = 0x7fff;
  pair.refused(IBV_QPS_INIT, to_init, "RESET to INIT with a P_Key index beyond the table");
  pair.how().pkey_index = 0;
  expect_equal(pair.to(IBV_QPS_INIT, to_init), 0, "RESET to INIT");
  pair.refused(IBV_QPS_RTS, to_rts, "INIT to RTS");
  pair.refused(IBV_QPS_RTR, to_rtr & ~IBV_QP_AV, "INIT to RTR without a path");
  pair.how().max_dest_rd_atomic = 255;
  pair.refused(IBV_QPS_RTR, to_rtr, "INIT to RTR with too many reads");
  pair.how().max_dest_rd_atomic = 1;
  pair.how().cur_qp_state = IBV_QPS_RTR;
  pair.refused(IBV_QPS_RTR, to_rtr | IBV_QP_CUR_STATE, "INIT to RTR from another state");
  expect_equal(pair.to(IBV_QPS_RTR, to_rtr), 0, "INIT to RTR");
  pair.refused(IBV_QPS_INIT, to_init, "RTR to INIT");
  pair.refused(IBV_QPS_RTS, to_rts & ~IBV_QP_TIMEOUT, "RTR to RTS without a timeout");
  expect_equal(pair.to(IBV_QPS_RTS, to_rts), 0, "RTR to RTS");
  pair.refused(IBV_QPS_RTR, to_rtr, "RTS to RTR");
  expect_equal(pair.to(IBV_QPS_ERR, IBV_QP_STATE), 0, "RTS to ERR");
  pair.refused(IBV_QPS_RTS, to_rts, "ERR to RTS");
  expect_equal(pair.to(IBV_QPS_RESET, IBV_QP_STATE), 0, "ERR to RESET");
}

int modify(ibv_qp* qp, ibv_qp_state state, int mask, ibv_qp_attr how = {}) {
  how.qp_state = state;
  return ibv_modify_qp(qp, &how, mask);
}

ibv_qp_attr queried(ibv_qp* qp) {
  ibv_qp_attr found{};
  ibv_qp_init_attr made{};
  require(ibv_query_qp(qp, &found, IBV_QP_STATE, &made) == 0, "ibv_query_qp");
  return found;
}

void attributes_change_and_are_queried(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_qp* const qp = pairs.a.qp;
  ibv_qp_attr how{};
  how.min_rnr_timer = 5;
  how.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  expect_equal(
      modify(qp, IBV_QPS_RTS,
             IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS, how),
      EINVAL, "RTS to RTS from another state");
  expect_equal(
      modify(qp, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS, how), 0,
      "RTS to RTS");
  ibv_qp_attr found = queried(qp);
  expect_equal(found.qp_state, IBV_QPS_RTS, "the state");
  expect_equal(int{found.min_rnr_timer}, 5, "the RNR timer");
  expect_equal(found.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE}, "the rights");
  expect_equal(found.dest_qp_num, pairs.b.qp->qp_num, "the peer");
  expect_equal(int{found.ah_attr.dlid}, int{device.lid}, "the path");
  expect_equal(found.path_mig_state, IBV_MIG_MIGRATED, "the path migration state");

  how.timeout = 12;
  expect_equal(modify(qp, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_TIMEOUT, how), EINVAL,
               "a timeout in RTS");
  how.en_sqd_async_notify = 1;
  expect_equal(modify(qp, IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, how), 0,
               "RTS to SQD");
  ibv_async_event event{};
  require(ibv_get_async_event(device.context, &event) == 0, "ibv_get_async_event");
  expect_equal(event.event_type, IBV_EVENT_SQ_DRAINED, "the event");
  expect(event.element.qp == qp, "the queue pair of the event");
  ibv_ack_async_event(&event);
  found = queried(qp);
  expect_equal(found.qp_state, IBV_QPS_SQD, "the state");
  expect_equal(int{found.sq_draining}, 0, "sq_draining");
  how.ah_attr = found.ah_attr;
  how.ah_attr.sl = 3;
  expect_equal(modify(qp, IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_AV, how), 0,
               "SQD to SQD");
  found = queried(qp);
  expect_equal(int{found.timeout}, 12, "the timeout");
  expect_equal(int{found.ah_attr.sl}, 3, "the SL");
  expect_equal(modify(qp, IBV_QPS_RTS, IBV_QP_STATE), 0, "SQD to RTS");
  pairs.write("a write after it");
  // Without the event.
  expect_equal(modify(qp, IBV_QPS_SQD, IBV_QP_STATE), 0, "RTS to SQD");
  while (queried(qp).sq_draining != 0) continue;
  expect_equal(modify(qp, IBV_QPS_RTS, IBV_QP_STATE), 0, "SQD to RTS");
  pairs.write("another write");

  how.alt_ah_attr = found.ah_attr;
  how.alt_ah_attr.sl = 7;
  how.alt_port_num = 9;
  how.alt_timeout = 11;
  how.path_mig_state = IBV_MIG_REARM;
  constexpr int migrates = IBV_QP_STATE | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
  expect_equal(modify(qp, IBV_QPS_RTS, migrates, how), EINVAL, "a port that there is not");
  how.alt_port_num = 1;
  expect_equal(modify(qp, IBV_QPS_RTS, migrates, how), 0, "an alternate path");
  found = queried(qp);
  expect_equal(found.path_mig_state, IBV_MIG_REARM, "the path migration state");
  expect_equal(int{found.alt_ah_attr.sl}, 7, "the alternate SL");
  expect_equal(int{found.alt_timeout}, 11, "the alternate timeout");
  expect_equal(int{found.alt_port_num}, 1, "the alternate port");
  pairs.write("a write by the primary path");
}

void completion_queues_are_resized_and_moderated(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_cq* const cq = pairs.a.qp->send_cq;
  for (const int entries : {200, 100, 1000}) {
    expect_equal(ibv_resize_cq(cq, entries), 0, "ibv_resize_cq");
    expect(cq->cqe >= entries, "the entries of the queue");
    pairs.write("a write after a resize");
  }
  const int before = cq->cqe;
  for (const int entries : {0, -1, 1 << 30})
    expect_equal(ibv_resize_cq(cq, entries), EINVAL, "ibv_resize_cq to a bad size");
  expect_equal(cq->cqe, before, "the entries of the queue");
  ibv_modify_cq_attr how{};
  expect_equal(ibv_modify_cq(cq, &how), EINVAL, "ibv_modify_cq of nothing");
  how.attr_mask = IBV_CQ_ATTR_MODERATE;
  how.moderate = {4, 100};
  expect_equal(ibv_modify_cq(cq, &how), 0, "ibv_modify_cq");
  pairs.write("a write with moderation");
}

void posts_before_their_state_fail(std::uint64_t seed) {
  opened_device device;
  buffer memory(seed, 64);
  ibv_mr* const region = memory.register_part(device.pd, 0, 64, IBV_ACCESS_LOCAL_WRITE);
  endpoint pair(device, {});
  ibv_sge list{memory.at(0), 64, region->lkey};
  ibv_send_wr request{};
  request.sg_list = &list;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  expect_equal(pair.post(request), EINVAL, "ibv_post_send in RESET");
  expect_equal(pair.post_receive(1, list), EINVAL, "ibv_post_recv in RESET");
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  require(ibv_modify_qp(pair.qp, &to, to_init) == 0, "to INIT");
  expect_equal(pair.post(request), EINVAL, "ibv_post_send in INIT");
  expect_equal(pair.post_receive(1, list), 0, "ibv_post_recv in INIT");
}

void full_queues_are_enomem(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed, {.depth = 64});
  ibv_qp_attr found{};
  ibv_qp_init_attr made{};
  require(ibv_query_qp(pairs.a.qp, &found, IBV_QP_CAP, &made) == 0, "ibv_query_qp");
  const std::uint32_t sends = made.cap.max_send_wr, receives = made.cap.max_recv_wr;
  expect(sends >= 64 && receives >= 64, "the depths that were asked for");
  // Places become free when their completions are polled, and not before.
  std::uint32_t posted = 0;
  int error = 0;
  while (posted <= sends && (error = pairs.a.post(pairs.write_request(posted))) == 0) ++posted;
  expect_equal(error, ENOMEM, "ibv_post_send into a full queue");
  expect_equal(posted, sends, "the requests that fit into the send queue");
  ibv_send_wr good = pairs.write_request(1), bad_one = good;
  good.next = &bad_one;
  for (std::uint32_t i = 0; i < 1 + sends - 64 && i < sends; ++i)
    expect_equal(pairs.a.sent("a write").status, IBV_WC_SUCCESS, "status of a write");
  for (std::uint32_t i = 0; i < sends - 64; ++i)
    require(pairs.a.post(pairs.write_request(1)) == 0, "a request into a place that is free");
  ibv_send_wr* bad = nullptr;
  expect_equal(ibv_post_send(pairs.a.qp, &good, &bad), ENOMEM, "two requests for one place");
  expect(bad == &bad_one, "bad_wr is the request that did not fit");
  const ibv_sge to{pairs.to.at(0), 8, pairs.to_region->lkey};
  posted = 0;
  while (posted <= receives && (error = pairs.b.post_receive(posted, to)) == 0) ++posted;
  expect_equal(error, ENOMEM, "ibv_post_recv into a full queue");
  expect_equal(posted, receives, "the requests that fit into the receive queue");
}

/// libmlx4 answers ENOMEM to a request with more entries or more inline data than the queue pair
/// was made for (rdma-core providers/mlx4/qp.c mlx4_post_send, mlx4_post_recv).
void posts_of_too_much_are_refused(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_qp_attr found{};
  ibv_qp_init_attr made{};
  require(ibv_query_qp(pairs.a.qp, &found, IBV_QP_CAP, &made) == 0, "ibv_query_qp");
  const std::uint32_t sends = made.cap.max_send_sge, receives = made.cap.max_recv_sge;
  expect(sends >= 2 && receives >= 2 && made.cap.max_inline_data >= 64, "what was asked for");
  std::vector<ibv_sge> list(std::max(sends, receives) + 1, {pairs.from.at(0), 8, pairs.list.lkey});
  ibv_send_wr request = pairs.write_request(1);
  request.sg_list = list.data();
  request.num_sge = static_cast<int>(sends) + 1;
  expect_equal(pairs.a.post(request), ENOMEM, "a request with too many entries");
  request.num_sge = static_cast<int>(sends);
  expect_equal(pairs.a.post(request), 0, "a request with as many entries as there may be");
  expect_equal(pairs.a.sent("a write").status, IBV_WC_SUCCESS, "status of a write");
  request = pairs.write_request(1);
  request.send_flags |= IBV_SEND_INLINE;
  pairs.list.length = made.cap.max_inline_data + 1;
  expect_equal(pairs.a.post(request), ENOMEM, "a request with too many inline bytes");
  pairs.list.length = made.cap.max_inline_data;
  expect_equal(pairs.a.post(request), 0, "a request with as many inline bytes as there may be");
  expect_equal(pairs.a.sent("a write").status, IBV_WC_SUCCESS, "status of a write");
  ibv_recv_wr receive{}, *bad = nullptr;
  receive.sg_list = list.data();
  receive.num_sge = static_cast<int>(receives) + 1;
  expect_equal(ibv_post_recv(pairs.b.qp, &receive, &bad), EINVAL,
               "a receive with too many entries");
  expect(bad == &receive, "bad_wr is the receive that was refused");
  receive.num_sge = static_cast<int>(receives);
  expect_equal(ibv_post_recv(pairs.b.qp, &receive, &bad), 0, "a receive with as many as may be");
}

/// No list has fewer entries than none. The face must not look for them.
void negative_counts_are_refused(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_srq_init_attr how{nullptr, {4, 2, 0}};
  ibv_srq* const srq = ibv_create_srq(device.pd, &how);
  require(srq != nullptr, "ibv_create_srq");
  for (const int count : {-1, std::numeric_limits<int>::min()}) {
    ibv_send_wr request = pairs.write_request(1);
    request.num_sge = count;
    expect_equal(pairs.a.post(request), ENOMEM, "a request with a negative count");
    request.send_flags |= IBV_SEND_INLINE;
    expect_equal(pairs.a.post(request), ENOMEM, "an inline request with a negative count");
    ibv_recv_wr receive{}, *bad = nullptr;
    receive.sg_list = &pairs.list;
    receive.num_sge = count;
    expect_equal(ibv_post_recv(pairs.b.qp, &receive, &bad), EINVAL,
                 "a receive with a negative count");
    expect_equal(ibv_post_srq_recv(srq, &receive, &bad), EINVAL,
                 "a shared receive with a negative count");
  }
  expect_equal(ibv_destroy_srq(srq), 0, "ibv_destroy_srq");
  pairs.write("a write afterwards");
}

ibv_qp_init_attr_ex extended(endpoint& of, std::uint64_t operations) {
  ibv_qp_init_attr_ex how{};
  how.send_cq = of.send_cq;
  how.recv_cq = of.receive_cq;
  how.cap = {16, 16, 2, 2, 64};
  how.qp_type = IBV_QPT_RC;
  how.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  how.pd = of.device.pd;
  how.send_ops_flags = operations;
  return how;
}

void unknown_operations_are_refused(std::uint64_t) {
  opened_device device;
  endpoint queues(device, {});
  constexpr std::uint64_t refused[] = {
      IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_RDMA_WRITE | std::uint64_t{1} << 40, ~std::uint64_t{0}};
  for (const std::uint64_t operations : refused) {
    ibv_qp_init_attr_ex how = extended(queues, operations);
    errno = 0;
    expect(ibv_create_qp_ex(device.context, &how) == nullptr, "unknown send_ops_flags");
    expect_equal(errno, EOPNOTSUPP, "errno of unknown send_ops_flags");
  }
  expect(ibv_qp_to_qp_ex(queues.qp) == nullptr, "the extended form of an ordinary queue pair");
}

/// Sends with the functions of ibv_qp_ex.
class builder {
 public:
  builder(opened_device& device, loop& pairs) : pairs_(pairs) {
    ibv_qp_init_attr_ex how = extended(
        pairs.a, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                     IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                     IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
    require(ibv_destroy_qp(pairs.a.qp) == 0, "ibv_destroy_qp");
    pairs.a.qp = ibv_create_qp_ex(device.context, &how);
    require(pairs.a.qp != nullptr, "ibv_create_qp_ex");
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    require(ibv_modify_qp(pairs.b.qp, &reset, IBV_QP_STATE) == 0, "to RESET");
    pairs.a.connect(pairs.b.own());
    pairs.b.connect(pairs.a.own());
    qp = ibv_qp_to_qp_ex(pairs.a.qp);
    require(qp != nullptr, "ibv_qp_to_qp_ex");
  }
  void begin(std::uint64_t id) {
    ibv_wr_start(qp);
    qp->wr_id = id;
    qp->wr_flags = IBV_SEND_SIGNALED;
  }
  void from_memory(std::size_t bytes) {
    ibv_wr_set_sge(qp, pairs_.from_region->lkey, pairs_.from.at(0),
                   static_cast<std::uint32_t>(bytes));
  }
  /// Behind inline data that the queue pair has no room for.
  void expect_too_much(const std::string& what) {
    expect_equal(ibv_wr_complete(qp), ENOMEM, what);
    ibv_wc done;
    expect_equal(ibv_poll_cq(pairs_.a.send_cq, 1, &done), 0, "completions of " + what);
  }
  void end(std::uint64_t id, ibv_wc_opcode opcode) {
    expect_equal(ibv_wr_complete(qp), 0, "ibv_wr_complete");
    expect_ends(id, opcode);
  }
  void expect_ends(std::uint64_t id, ibv_wc_opcode opcode) {
    const ibv_wc done = pairs_.a.sent("a request of ibv_wr_*");
    expect_equal(done.status, IBV_WC_SUCCESS, "status");
    expect_equal(static_cast<std::int64_t>(done.wr_id), static_cast<std::int64_t>(id), "wr_id");
    expect_equal(done.opcode, opcode, "opcode");
  }
  void expect_receive(std::size_t bytes, bool immediate) {
    const ibv_wc done = pairs_.b.received("a receive");
    expect_equal(done.status, IBV_WC_SUCCESS, "status of a receive");
    expect_equal(done.byte_len, static_cast<std::int64_t>(bytes), "length of a receive");
    expect_equal(done.wc_flags & IBV_WC_WITH_IMM, immediate ? IBV_WC_WITH_IMM : 0, "immediate");
    if (immediate) expect_equal(ntohl(done.imm_data), 0x01020304, "immediate");
  }
  void expect_from_at(std::size_t place, std::size_t from, std::size_t bytes) {
    std::memcpy(&pairs_.to.expected[place], &pairs_.from.bytes[from], bytes);
    pairs_.to.expect_bytes("memory of the target");
  }
  ibv_qp_ex* qp;

 private:
  loop& pairs_;
};

void requests_are_built(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_mr* const target =
      pairs.to.register_part(device.pd, 0, loop::bytes,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  builder built(device, pairs);
  const ibv_sge receive{pairs.to.at(1000), 900, target->lkey};
  built.begin(1);
  ibv_wr_rdma_write(built.qp, target->rkey, pairs.to.at(0));
  built.from_memory(700);
  built.end(1, IBV_WC_RDMA_WRITE);
  built.expect_from_at(0, 0, 700);

  require(pairs.b.post_receive(1, receive) == 0 && pairs.b.post_receive(2, receive) == 0 &&
              pairs.b.post_receive(3, receive) == 0,
          "ibv_post_recv");
  built.begin(2);
  ibv_wr_send(built.qp);
  built.from_memory(800);
  built.end(2, IBV_WC_SEND);
  built.expect_receive(800, false);
  built.expect_from_at(1000, 0, 800);

  built.begin(3);
  ibv_wr_send_imm(built.qp, htonl(0x01020304));
  ibv_wr_set_inline_data(built.qp, &pairs.from.bytes[100], 40);
  built.end(3, IBV_WC_SEND);
  built.expect_receive(40, true);
  built.expect_from_at(1000, 100, 40);

  built.begin(4);
  ibv_wr_rdma_write_imm(built.qp, target->rkey, pairs.to.at(3000), htonl(0x01020304));
  const ibv_data_buf pieces[] = {{&pairs.from.bytes[200], 20}, {&pairs.from.bytes[220], 13}};
  ibv_wr_set_inline_data_list(built.qp, 2, pieces);
  built.end(4, IBV_WC_RDMA_WRITE);
  built.expect_receive(33, true);
  built.expect_from_at(3000, 200, 33);

  // Two requests of one list, and a list that is given up.
  built.begin(5);
  ibv_wr_rdma_write(built.qp, target->rkey, pairs.to.at(4000));
  built.from_memory(10);
  built.qp->wr_id = 6;
  ibv_wr_rdma_write(built.qp, target->rkey, pairs.to.at(4010));
  built.from_memory(10);
  built.end(5, IBV_WC_RDMA_WRITE);
  built.expect_ends(6, IBV_WC_RDMA_WRITE);
  std::memcpy(&pairs.to.expected[4000], &pairs.from.bytes[0], 10);
  built.expect_from_at(4010, 0, 10);
  built.begin(7);
  ibv_wr_rdma_write(built.qp, target->rkey, pairs.to.at(0));
  built.from_memory(5);
  ibv_wr_abort(built.qp);

  built.begin(8);
  ibv_wr_atomic_fetch_add(built.qp, target->rkey, pairs.to.at(4800 + 8 - pairs.to.at(4800) % 8), 5);
  built.from_memory(8);
  const std::size_t word = 4800 + 8 - pairs.to.at(4800) % 8;
  std::uint64_t before;
  std::memcpy(&before, &pairs.to.bytes[word], sizeof before);
  built.end(8, IBV_WC_FETCH_ADD);
  expect(std::memcmp(&pairs.from.bytes[0], &before, sizeof before) == 0, "the value before");
  before += 5;
  std::memcpy(&pairs.to.expected[word], &before, sizeof before);
  pairs.to.expect_bytes("memory of the target");
  built.begin(9);
  ibv_wr_rdma_read(built.qp, target->rkey, pairs.to.at(word));
  built.from_memory(8);
  built.end(9, IBV_WC_RDMA_READ);
  expect(std::memcmp(&pairs.from.bytes[0], &before, sizeof before) == 0, "what a read brings");
}

/// Inline data that is too long is not read, because it may not be there.
void inline_data_that_is_too_long_is_refused(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  builder built(device, pairs);
  constexpr std::size_t huge = std::size_t{1} << 40;
  void* const at = &pairs.from.bytes[0];
  built.begin(1);
  ibv_wr_rdma_write(built.qp, pairs.to_region->rkey, pairs.to.at(0));
  built.from_memory(10);
  ibv_wr_rdma_write(built.qp, pairs.to_region->rkey, pairs.to.at(10));
  ibv_wr_set_inline_data(built.qp, at, huge);
  built.expect_too_much("a list whose second request has too much inline data");
  const ibv_data_buf pieces[] = {{at, 20}, {at, huge}, {at, ~std::size_t{0}}};
  built.begin(2);
  ibv_wr_rdma_write(built.qp, pairs.to_region->rkey, pairs.to.at(0));
  ibv_wr_set_inline_data_list(built.qp, 3, pieces);
  built.expect_too_much("a request with pieces of too much inline data");
  pairs.to.expect_bytes("memory of the target");
  built.begin(3);
  ibv_wr_rdma_write(built.qp, pairs.to_region->rkey, pairs.to.at(0));
  ibv_wr_set_inline_data(built.qp, at, 20);
  built.end(3, IBV_WC_RDMA_WRITE);
  built.expect_from_at(0, 0, 20);
}

/// A request has either a remote address or an address handle, in the same place.
void datagrams_have_no_remote_address(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_qp_init_attr_ex how =
      extended(pairs.b, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND);
  how.qp_type = IBV_QPT_UD;
  require(ibv_destroy_qp(pairs.b.qp) == 0, "ibv_destroy_qp");
  pairs.b.qp = ibv_create_qp_ex(device.context, &how);
  require(pairs.b.qp != nullptr, "ibv_create_qp_ex");
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pairs.b.qp);
  const auto expect_refused = [&](const std::string& what) {
    ibv_wr_set_sge(qp, pairs.list.lkey, pairs.from.at(0), 8);
    expect_equal(ibv_wr_complete(qp), EINVAL, what);
  };
  ibv_wr_start(qp);
  ibv_wr_rdma_write(qp, pairs.to_region->rkey, 0x1000);
  expect_refused("an RDMA write of a datagram queue pair");
  ibv_wr_start(qp);
  ibv_wr_rdma_read(qp, pairs.to_region->rkey, 0x1000);
  expect_refused("an RDMA read of a datagram queue pair");
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  expect_refused("a datagram to nowhere");
}

void ten_thousand_queue_pairs(std::uint64_t seed) {
  opened_device device;
  ibv_cq* const cq = ibv_create_cq(device.context, 16, nullptr, nullptr, 0);
  require(cq != nullptr, "ibv_create_cq");
  std::vector<ibv_qp*> made;
  std::set<std::uint32_t> numbers;
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  for (int i = 0; i < 10'000; ++i) {
    ibv_qp_init_attr how{};
    how.send_cq = how.recv_cq = cq;
    how.cap = {4, 4, 1, 1, 0};
    how.qp_type = IBV_QPT_RC;
    made.push_back(ibv_create_qp(device.pd, &how));
    require(made.back() != nullptr, "queue pair " + std::to_string(i));
    require(ibv_modify_qp(made.back(), &to, to_init) == 0, "to INIT");
    numbers.insert(made.back()->qp_num);
  }
  expect_equal(static_cast<std::int64_t>(numbers.size()), 10'000, "different numbers");
  loop(device, seed).write("a write between two more queue pairs");
  for (ibv_qp* const qp : made) expect_equal(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
  expect_equal(ibv_destroy_cq(cq), 0, "ibv_destroy_cq");
}

}  // namespace

std::vector<test> queue_tests() {
  return {
      {"wrong_transitions_are_refused", wrong_transitions_are_refused},
      {"attributes_change_and_are_queried", attributes_change_and_are_queried},
      {"completion_queues_are_resized_and_moderated", completion_queues_are_resized_and_moderated},
      {"posts_before_their_state_fail", posts_before_their_state_fail},
      {"full_queues_are_enomem", full_queues_are_enomem},
      {"posts_of_too_much_are_refused", posts_of_too_much_are_refused},
      {"negative_counts_are_refused", negative_counts_are_refused},
      {"unknown_operations_are_refused", unknown_operations_are_refused},
      {"requests_are_built", requests_are_built},
      {"inline_data_that_is_too_long_is_refused", inline_data_that_is_too_long_is_refused},
      {"datagrams_have_no_remote_address", datagrams_have_no_remote_address},
      {"ten_thousand_queue_pairs", ten_thousand_queue_pairs}};
}

}  // namespace programs
