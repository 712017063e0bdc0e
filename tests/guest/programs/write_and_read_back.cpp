// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// write_and_read_back DEVICE TIMES: one doorbell for an RDMA write and an RDMA read of the same
// place, of many lengths and with bytes around the write. The read must find what the write left,
// whatever an adapter keeps back between the two.
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../../bench/linux/own_peer.hpp"

namespace {

constexpr std::uint32_t most = 512;   ///< bytes of each of the three places
constexpr std::uint32_t around = 24;  ///< bytes that are read on either side of what is written
constexpr unsigned depth = 16;        ///< requests

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

struct places {
  alignas(64) std::uint8_t source[most], target[most], back[most];
};
places memory;

ibv_sge part(const ibv_mr* region, std::uint8_t* at, std::uint32_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(at), bytes, region->lkey};
}

void take_completion(ibv_cq* completions) {
  ibv_wc done{};
  int found = 0;
  while ((found = ibv_poll_cq(completions, 1, &done)) == 0) {
  }
  if (found < 0) fail("ibv_poll_cq");
  if (done.status != IBV_WC_SUCCESS) {
    std::fprintf(stderr, "a request ended with: %s\n", ibv_wc_status_str(done.status));
    std::exit(EXIT_FAILURE);
  }
}

void write_and_check(ibv_qp* q, const ibv_mr* region, std::uint32_t bytes, unsigned number) {
  for (std::uint32_t i = 0; i < most; ++i) {
    memory.source[i] = static_cast<std::uint8_t>(number * 7 + i);
    memory.target[i] = static_cast<std::uint8_t>(number * 13 + i * 3 + 1);
  }
  std::array<std::uint8_t, most> expected{};
  std::copy_n(memory.target, most, expected.begin());
  std::copy_n(memory.source, bytes, expected.begin() + around);

  ibv_sge from = part(region, memory.source, bytes);
  ibv_sge into = part(region, memory.back, bytes + 2 * around);
  ibv_send_wr write{}, read{};
  write.next = &read;
  write.sg_list = &from;
  write.num_sge = read.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.wr.rdma = {reinterpret_cast<std::uintptr_t>(memory.target + around), region->rkey};
  read.sg_list = &into;
  read.opcode = IBV_WR_RDMA_READ;
  read.send_flags = IBV_SEND_SIGNALED;
  read.wr.rdma = {reinterpret_cast<std::uintptr_t>(memory.target), region->rkey};
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(q, &write, &bad) != 0) fail("ibv_post_send");
  take_completion(q->send_cq);
  if (std::memcmp(memory.back, expected.data(), bytes + 2 * around) == 0) return;
  std::fprintf(stderr, "round %u: of %u bytes that were written others were read back\n", number,
               bytes);
  std::exit(EXIT_FAILURE);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long times = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (times == 0) {
    std::fprintf(stderr, "usage: %s DEVICE TIMES\n", argv[0]);
    return 2;
  }
  ibv_context* const device = freehca::bench::open_device(argv[1]);
  ibv_port_attr port{};
  if (ibv_query_port(device, 1, &port) != 0) fail("ibv_query_port");
  ibv_pd* const domain = ibv_alloc_pd(device);
  ibv_cq* const completions = ibv_create_cq(device, depth, nullptr, nullptr, 0);
  if (domain == nullptr || completions == nullptr) fail("protection domain, completion queue");
  ibv_mr* const region =
      ibv_reg_mr(domain, &memory, sizeof memory,
                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (region == nullptr) fail("ibv_reg_mr");
  ibv_qp_init_attr a{};
  a.send_cq = a.recv_cq = completions;
  a.cap = {.max_send_wr = depth,
           .max_recv_wr = 1,
           .max_send_sge = 1,
           .max_recv_sge = 1,
           .max_inline_data = 0};
  a.qp_type = IBV_QPT_RC;
  ibv_qp* const q = ibv_create_qp(domain, &a);
  if (q == nullptr) fail("ibv_create_qp");
  freehca::bench::connect_to_itself(q, port);

  for (unsigned long i = 0; i < times; ++i)
    for (const std::uint32_t bytes : {1u, 4u, 8u, 61u, 64u, 128u, 255u, 256u, 257u, 400u})
      write_and_check(q, region, bytes, static_cast<unsigned>(i * 10 + bytes));

  if (ibv_destroy_qp(q) != 0 || ibv_dereg_mr(region) != 0 || ibv_destroy_cq(completions) != 0 ||
      ibv_dealloc_pd(domain) != 0 || ibv_close_device(device) != 0)
    fail("teardown");
  return EXIT_SUCCESS;
}
