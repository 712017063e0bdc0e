// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "face.hpp"

namespace programs {

loop::loop(opened_device& device, std::uint64_t seed, const pair_options& how)
    : from(next_random(seed), bytes),
      to(next_random(seed), bytes),
      from_region(from.register_part(device.pd, 0, bytes, IBV_ACCESS_LOCAL_WRITE)),
      to_region(
          to.register_part(device.pd, 0, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)),
      a(device, how),
      b(device, how),
      list{from.at(0), bytes, from_region->lkey} {
  a.connect(b.own());
  b.connect(a.own());
}

ibv_send_wr loop::write_request(std::uint64_t id) {
  ibv_send_wr made{};
  made.wr_id = id;
  made.sg_list = &list;
  made.num_sge = 1;
  made.opcode = IBV_WR_RDMA_WRITE;
  made.send_flags = IBV_SEND_SIGNALED;
  made.wr.rdma = {to.at(0), to_region->rkey};
  return made;
}

void loop::write(const std::string& what) {
  require(a.post(write_request(1)) == 0, "ibv_post_send: " + what);
  expect_equal(a.sent(what).status, IBV_WC_SUCCESS, "status: " + what);
  to.expected = from.bytes;
  to.expect_bytes(what);
}

}  // namespace programs
