// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A datagram that is longer than the largest packet of the port.
#include "rig.h"

static struct ibv_mr *from, *to;
static struct ibv_ah* address;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BUFFER, 0);
  to = ibv_reg_mr(domain, target, BUFFER, IBV_ACCESS_LOCAL_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void create_address(void) {
  struct ibv_ah_attr path = path_to_own_port();
  address = ibv_create_ah(domain, &path);
  must(address != NULL, "ibv_create_ah");
}

static void post_receive(void) {
  struct ibv_sge entry = piece(target, BUFFER, to->lkey);
  struct ibv_recv_wr wr = receive_request(&entry), *bad;
  must(ibv_post_recv(responder, &wr, &bad) == 0, "ibv_post_recv");
}

static int send_datagram(void) {
  struct ibv_sge entry = piece(source, WRONG_OR_RIGHT(8192, BLOCK), from->lkey);
  struct ibv_send_wr wr = datagram(&entry, address, responder->qp_num, QKEY), *bad;
  fact("bytes", entry.length);
  return ibv_post_send(requester, &wr, &bad);
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_UD);
  connect_queue_pairs();
  create_address();
  post_receive();
  // Libraries may refuse the request at once, or leave that to the adapter.
  const int error = send_datagram();
  if (error != 0) return show_error(error, EINVAL, 0);
  const struct ibv_wc done = completion_of(requester_cq);
  if (IS_HEALTHY) completion_of(responder_cq);
  return show_status(done, IBV_WC_LOC_LEN_ERR, memcmp(source, target + GRH, BLOCK) == 0);
}
