// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// RC queue pairs from nothing to RTS by Linux's mlx4_ib, through libibverbs, from one thread: what
// connecting.cpp does, call by call and attribute by attribute. Prints one line of JSON.
#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "../linux/own_peer.hpp"

namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

ibv_qp* make(ibv_pd* domain, ibv_cq* completions) {
  ibv_qp_init_attr a{};
  a.send_cq = a.recv_cq = completions;
  a.cap = {.max_send_wr = 1,
           .max_recv_wr = 1,
           .max_send_sge = 1,
           .max_recv_sge = 1,
           .max_inline_data = 0};
  a.qp_type = IBV_QPT_RC;
  ibv_qp* const q = ibv_create_qp(domain, &a);
  if (q == nullptr) fail("ibv_create_qp");
  return q;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long count = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (count == 0) {
    std::fprintf(stderr, "usage: %s QUEUE_PAIRS\n", argv[0]);
    return 2;
  }
  ibv_context* const device = freehca::bench::open_device();
  ibv_port_attr port{};
  if (ibv_query_port(device, 1, &port) != 0) fail("ibv_query_port");
  ibv_pd* const domain = ibv_alloc_pd(device);
  ibv_cq* const completions = ibv_create_cq(device, 64, nullptr, nullptr, 0);
  if (domain == nullptr || completions == nullptr) fail("protection domain, completion queue");
  std::vector<ibv_qp*> queues;
  queues.reserve(count);

  const double began = now();
  while (queues.size() < count) {
    queues.push_back(make(domain, completions));
    freehca::bench::connect_to_itself(queues.back(), port);
  }
  const double seconds = now() - began;

  for (ibv_qp* q : queues)
    if (ibv_destroy_qp(q) != 0) fail("ibv_destroy_qp");
  if (ibv_destroy_cq(completions) != 0 || ibv_dealloc_pd(domain) != 0 ||
      ibv_close_device(device) != 0)
    fail("teardown");
  std::printf(
      "{\"driver\": \"mlx4_ib\", \"queue_pairs\": %lu, \"seconds\": %.6f, "
      "\"queue_pairs_per_second\": %.0f}\n",
      count, seconds, static_cast<double>(count) / seconds);
  return EXIT_SUCCESS;
}
