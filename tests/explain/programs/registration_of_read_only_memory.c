// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A region with IBV_ACCESS_LOCAL_WRITE over memory that the program may only read.
#include "rig.h"

#include <sys/mman.h>

static unsigned char* pages;

static void map_pages(void) {
  pages = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(pages != MAP_FAILED, "mmap");
  if (!IS_HEALTHY) must(mprotect(pages, BUFFER, PROT_READ) == 0, "mprotect");
  fact("address", (uintptr_t)pages);
}

static struct ibv_mr* region;

static int register_pages(void) {
  region = ibv_reg_mr(domain, pages, BUFFER, ALL_RIGHTS);
  return region == NULL ? errno : 0;
}

static int write_pages(void) {
  struct ibv_mr* from = ibv_reg_mr(domain, source, BUFFER, 0);
  must(from != NULL, "ibv_reg_mr");
  struct ibv_sge entry = piece(source, BUFFER, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, pages, region->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
  return completion_of(requester_cq).status == IBV_WC_SUCCESS && memcmp(source, pages, BUFFER) == 0;
}

int main(void) {
  open_rig();
  map_pages();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  const int error = register_pages();
  return show_error(error, EFAULT, error == 0 && write_pages());
}
