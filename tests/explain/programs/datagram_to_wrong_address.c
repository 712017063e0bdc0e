// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A datagram to a LID, or on Ethernet a GID, that no port has.
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
  path.dlid ^= WRONG_OR_RIGHT(0x0f00, 0);
  path.grh.dgid.raw[14] ^= WRONG_OR_RIGHT(0x55, 0);
  if (!is_ethernet) fact("lid", path.dlid);
  address = ibv_create_ah(domain, &path);
  must(address != NULL, "ibv_create_ah");
}

static void post_receive(void) {
  struct ibv_sge entry = piece(target, BUFFER, to->lkey);
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
  must(completion_of(requester_cq).status == IBV_WC_SUCCESS, "the send");
  return show_arrival(responder_cq, target + GRH, BLOCK);
}
