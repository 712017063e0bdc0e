// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A receive of a datagram without the 40 bytes of the GRH.
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
  struct ibv_sge entry = piece(target, BLOCK + WRONG_OR_RIGHT(0, GRH), to->lkey);
  fact("room", entry.length);
  struct ibv_recv_wr wr = receive_request(&entry), *bad;
  must(ibv_post_recv(responder, &wr, &bad) == 0, "ibv_post_recv");
}

static void send_datagram(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = datagram(&entry, address, responder->qp_num, QKEY), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_UD);
  connect_queue_pairs();
  create_address();
  post_receive();
  send_datagram();
  return show_completion(responder_cq, IBV_WC_LOC_LEN_ERR, target + GRH, BLOCK);
}
