// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A queue pair is attached to a multicast group whose GID is no multicast GID.
#include "rig.h"

static union ibv_gid group = {.raw = {0xff, 0x12, [15] = 0x77}};
static struct ibv_mr *from, *to;

static int join_group(void) {
  if (!IS_HEALTHY) group.raw[0] = 0xfe;
  return ibv_attach_mcast(responder, &group, 0xc001);
}

static int group_receives(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BUFFER, IBV_ACCESS_LOCAL_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  struct ibv_sge room = piece(target, BUFFER, to->lkey), entry = piece(source, BLOCK, from->lkey);
  struct ibv_recv_wr receive = receive_request(&room), *bad_receive;
  must(ibv_post_recv(responder, &receive, &bad_receive) == 0, "ibv_post_recv");
  struct ibv_ah_attr path = path_to_own_port();
  path.is_global = 1;
  path.dlid = is_ethernet ? 0 : 0xc001;
  path.grh.dgid = group;
  struct ibv_ah* address = ibv_create_ah(domain, &path);
  must(address != NULL, "ibv_create_ah");
  struct ibv_send_wr wr = datagram(&entry, address, 0xffffff, QKEY), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
  completion_of(responder_cq);
  return memcmp(source, target + GRH, BLOCK) == 0;
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_UD);
  connect_queue_pairs();
  const int error = join_group();
  return show_error(error, EINVAL, error == 0 && group_receives());
}
