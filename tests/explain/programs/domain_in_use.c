// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A protection domain is deallocated while it has a region.
#include "rig.h"

static struct ibv_pd* own_domain;
static struct ibv_mr* region;

static void setup_buffers(void) {
  own_domain = ibv_alloc_pd(device);
  must(own_domain != NULL, "ibv_alloc_pd");
  region = ibv_reg_mr(own_domain, source, BLOCK, 0);
  must(region != NULL, "ibv_reg_mr");
  fact("lkey", region->lkey);
}

static int release_domain(void) {
  if (IS_HEALTHY) must(ibv_dereg_mr(region) == 0, "ibv_dereg_mr");
  return ibv_dealloc_pd(own_domain);
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  return show_error(release_domain(), EBUSY, writes_block());
}
