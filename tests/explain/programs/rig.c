// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rig.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

struct ibv_context* device;
struct ibv_pd* domain;
struct ibv_cq *requester_cq, *responder_cq;
struct ibv_qp *requester, *responder;
int is_ethernet;
unsigned char source[BUFFER] __attribute__((aligned(4096)));
unsigned char target[BUFFER] __attribute__((aligned(4096)));

static struct ibv_port_attr port;
static union ibv_gid own_gid;

void must(int holds, const char* what) {
  if (holds) return;
  printf("failed: %s: %s\n", what, strerror(errno));
  exit(2);
}

void fact(const char* name, unsigned long long number) {
  printf("fact %s 0x%llx\n", name, number);
}

void open_rig(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  must(list != NULL && list[0] != NULL, "a device");
  device = ibv_open_device(list[0]);
  must(device != NULL, "ibv_open_device");
  ibv_free_device_list(list);
  must(ibv_query_port(device, 1, &port) == 0, "ibv_query_port");
  must(ibv_query_gid(device, 1, 0, &own_gid) == 0, "ibv_query_gid");
  is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  domain = ibv_alloc_pd(device);
  must(domain != NULL, "ibv_alloc_pd");
  requester_cq = ibv_create_cq(device, 64, NULL, NULL, 0);
  responder_cq = ibv_create_cq(device, 64, NULL, NULL, 0);
  must(requester_cq != NULL && responder_cq != NULL, "ibv_create_cq");
  for (size_t i = 0; i < sizeof source; ++i) source[i] = (unsigned char)(1 + i % 251);
}

struct ibv_qp_init_attr queue_pair_plan(enum ibv_qp_type type, struct ibv_cq* cq) {
  return (struct ibv_qp_init_attr){
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = 16,
              .max_recv_wr = 16,
              .max_send_sge = 2,
              .max_recv_sge = 2,
              .max_inline_data = 64},
      .qp_type = type,
  };
}

void create_queue_pairs(enum ibv_qp_type type) {
  struct ibv_qp_init_attr plan = queue_pair_plan(type, requester_cq);
  requester = ibv_create_qp(domain, &plan);
  plan = queue_pair_plan(type, responder_cq);
  responder = ibv_create_qp(domain, &plan);
  must(requester != NULL && responder != NULL, "ibv_create_qp");
  fact("requester", requester->qp_num);
  fact("responder", responder->qp_num);
}

struct ibv_ah_attr path_to_own_port(void) {
  struct ibv_ah_attr path = {.port_num = 1};
  if (is_ethernet) {
    path.is_global = 1;
    path.grh.dgid = own_gid;
    path.grh.hop_limit = 1;
  } else {
    path.dlid = port.lid;
  }
  return path;
}

struct ibv_qp_attr attributes_towards(const struct ibv_qp* peer) {
  return (struct ibv_qp_attr){
      .port_num = 1,
      .qkey = QKEY,
      .qp_access_flags = ALL_RIGHTS,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = peer->qp_num,
      .rq_psn = FIRST_PSN,
      .sq_psn = FIRST_PSN,
      .max_rd_atomic = 4,
      .max_dest_rd_atomic = 4,
      .min_rnr_timer = 1,
      .timeout = 10,
      .retry_cnt = 1,
      .rnr_retry = 1,
      .ah_attr = path_to_own_port(),
  };
}

int needed_attributes(enum ibv_qp_type type, enum ibv_qp_state state) {
  const int rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;
  int mask = IBV_QP_STATE;
  if (state == IBV_QPS_INIT)
    mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  if (state == IBV_QPS_RTR && !ud)
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (state == IBV_QPS_RTR && rc) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (state == IBV_QPS_RTS) mask |= IBV_QP_SQ_PSN;
  if (state == IBV_QPS_RTS && rc)
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return mask;
}

void bring_up(struct ibv_qp* qp, struct ibv_qp_attr how, enum ibv_qp_state last) {
  static const enum ibv_qp_state steps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
  for (size_t i = 0; i < 3 && steps[i] <= last; ++i) {
    how.qp_state = steps[i];
    must(ibv_modify_qp(qp, &how, needed_attributes(qp->qp_type, steps[i])) == 0, "ibv_modify_qp");
  }
}

void connect_queue_pairs(void) {
  bring_up(responder, attributes_towards(requester), IBV_QPS_RTS);
  bring_up(requester, attributes_towards(responder), IBV_QPS_RTS);
}

enum ibv_qp_state state_of(struct ibv_qp* qp) {
  struct ibv_qp_attr found;
  struct ibv_qp_init_attr made;
  must(ibv_query_qp(qp, &found, IBV_QP_STATE, &made) == 0, "ibv_query_qp");
  return found.qp_state;
}

struct ibv_sge piece(const void* at, uint32_t bytes, uint32_t lkey) {
  return (struct ibv_sge){.addr = (uintptr_t)at, .length = bytes, .lkey = lkey};
}

struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge* entry) {
  return (struct ibv_send_wr){.wr_id = 7,
                              .sg_list = entry,
                              .num_sge = 1,
                              .opcode = opcode,
                              .send_flags = IBV_SEND_SIGNALED};
}

struct ibv_send_wr remote_request(enum ibv_wr_opcode opcode, struct ibv_sge* entry, const void* at,
                                  uint32_t rkey) {
  struct ibv_send_wr made = request(opcode, entry);
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    made.wr.atomic.remote_addr = (uintptr_t)at;
    made.wr.atomic.compare_add = 5;
    made.wr.atomic.rkey = rkey;
  } else {
    made.wr.rdma.remote_addr = (uintptr_t)at;
    made.wr.rdma.rkey = rkey;
  }
  return made;
}

struct ibv_send_wr datagram(struct ibv_sge* entry, struct ibv_ah* ah, uint32_t qpn, uint32_t qkey) {
  struct ibv_send_wr made = request(IBV_WR_SEND, entry);
  made.wr.ud.ah = ah;
  made.wr.ud.remote_qpn = qpn;
  made.wr.ud.remote_qkey = qkey;
  return made;
}

struct ibv_recv_wr receive_request(struct ibv_sge* entry) {
  return (struct ibv_recv_wr){.wr_id = 9, .sg_list = entry, .num_sge = 1};
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int completes(struct ibv_cq* cq, struct ibv_wc* done, double limit) {
  const double end = seconds() + limit;
  int count;
  do count = ibv_poll_cq(cq, 1, done);
  while (count == 0 && seconds() < end);
  must(count >= 0, "ibv_poll_cq");
  return count;
}

struct ibv_wc completion_of(struct ibv_cq* cq) {
  struct ibv_wc done;
  must(completes(cq, &done, 5), "a completion within 5 seconds");
  return done;
}

static int event_comes(int milliseconds) {
  struct pollfd looked = {.fd = device->async_fd, .events = POLLIN};
  return poll(&looked, 1, milliseconds) == 1;
}

struct ibv_async_event event_of_device(void) {
  struct ibv_async_event event;
  must(event_comes(5000), "an asynchronous event within 5 seconds");
  must(ibv_get_async_event(device, &event) == 0, "ibv_get_async_event");
  ibv_ack_async_event(&event);
  return event;
}

int has_completion(struct ibv_cq* cq) {
  struct ibv_wc done;
  return completes(cq, &done, 0.1);
}

int has_event(void) {
  return event_comes(0);
}

int writes_block(void) {
  struct ibv_mr* from = ibv_reg_mr(domain, source, BUFFER, 0);
  struct ibv_mr* to =
      ibv_reg_mr(domain, target, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr write = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  must(ibv_post_send(requester, &write, &bad) == 0, "ibv_post_send");
  return completion_of(requester_cq).status == IBV_WC_SUCCESS && memcmp(source, target, BLOCK) == 0;
}

int show_status(struct ibv_wc done, enum ibv_wc_status provoked, int verified) {
  printf("wc status %d\n", done.status);
  if (!IS_HEALTHY) return done.status != provoked;
  return done.status != IBV_WC_SUCCESS || !verified;
}

int show_error(int error, int provoked, int verified) {
  printf("errno %d\n", error);
  return IS_HEALTHY ? error != 0 || !verified : error != provoked;
}

int show_event(enum ibv_event_type provoked, int verified) {
  if (IS_HEALTHY) {
    printf("event none\n");
    return has_event() || !verified;
  }
  const struct ibv_async_event event = event_of_device();
  printf("event %d\n", event.event_type);
  return event.event_type != provoked;
}

int show_completion(struct ibv_cq* cq, enum ibv_wc_status provoked, const void* at, size_t bytes) {
  const struct ibv_wc done = completion_of(cq);
  return show_status(done, provoked, memcmp(source, at, bytes) == 0);
}

int show_arrival(struct ibv_cq* cq, const void* at, size_t bytes) {
  struct ibv_wc done;
  if (completes(cq, &done, IS_HEALTHY ? 5 : 0.1)) {
    const int differs = show_status(done, IBV_WC_GENERAL_ERR, memcmp(source, at, bytes) == 0);
    return !IS_HEALTHY || differs;
  }
  printf("nothing came\n");
  return IS_HEALTHY;
}
