// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// one_process DEVICE GID_INDEX TIMES: an RDMA write of 64 bytes there and one back, between two RC
// queue pairs of one process that looks at memory meanwhile. So one processor is enough for both
// ends, and whoever moves the data may have another. Prints the median of half of the time there
// and back, in microseconds.
#include <infiniband/verbs.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../linux/own_peer.hpp"

namespace {

constexpr std::uint32_t bytes = 64;
constexpr unsigned before = 200;  ///< that do not count

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

/// One end of the connection, with 64 bytes that it sends and as many that come.
struct end {
  end(ibv_pd* domain, ibv_context* device) {
    region =
        ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    completions = ibv_create_cq(device, 16, nullptr, nullptr, 0);
    if (region == nullptr || completions == nullptr) fail("region, completion queue");
    ibv_qp_init_attr a{};
    a.send_cq = a.recv_cq = completions;
    a.cap = {.max_send_wr = 16,
             .max_recv_wr = 1,
             .max_send_sge = 1,
             .max_recv_sge = 1,
             .max_inline_data = bytes};
    a.qp_type = IBV_QPT_RC;
    a.sq_sig_all = 1;
    q = ibv_create_qp(domain, &a);
    if (q == nullptr) fail("ibv_create_qp");
  }
  ~end() {
    if (ibv_destroy_qp(q) != 0 || ibv_destroy_cq(completions) != 0 || ibv_dereg_mr(region) != 0)
      fail("teardown");
  }
  end(const end&) = delete;
  end& operator=(const end&) = delete;

  std::uint8_t* sent() { return memory; }
  volatile std::uint8_t* last_to_come() { return memory + 2 * bytes - 1; }

  void write_to(end& other, std::uint8_t number) {
    std::memset(sent(), number, bytes);
    ibv_sge where{reinterpret_cast<std::uintptr_t>(sent()), bytes, region->lkey};
    ibv_send_wr request{};
    request.sg_list = &where;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(other.memory + bytes);
    request.wr.rdma.rkey = other.region->rkey;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(q, &request, &bad) != 0) fail("ibv_post_send");
  }
  /// Until the write is there.
  void wait_for(std::uint8_t number) {
    while (*last_to_come() != number) {
    }
  }
  void take_completion() {
    ibv_wc done{};
    int found = 0;
    while ((found = ibv_poll_cq(completions, 1, &done)) == 0) {
    }
    if (found < 0 || done.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(done.status));
  }

  alignas(64) std::uint8_t memory[2 * bytes] = {};
  ibv_mr* region = nullptr;
  ibv_cq* completions = nullptr;
  ibv_qp* q = nullptr;
};

double bounce(end& here, end& there, std::uint8_t number) {
  const auto began = std::chrono::steady_clock::now();
  here.write_to(there, number);
  there.wait_for(number);
  there.write_to(here, number);
  here.wait_for(number);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - began;
  here.take_completion();
  there.take_completion();
  return time.count() / 2;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long gid = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 256;
  const unsigned long times = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if (times == 0 || gid > 255) {
    std::fprintf(stderr, "usage: %s DEVICE GID_INDEX TIMES\n", argv[0]);
    return 2;
  }
  ibv_context* const device = freehca::bench::open_device(argv[1]);
  ibv_port_attr port{};
  if (ibv_query_port(device, 1, &port) != 0) fail("ibv_query_port");
  ibv_pd* const domain = ibv_alloc_pd(device);
  if (domain == nullptr) fail("ibv_alloc_pd");
  std::vector<double> all;
  {
    end here(domain, device), there(domain, device);
    freehca::bench::connect(here.q, port, there.q->qp_num, static_cast<std::uint8_t>(gid));
    freehca::bench::connect(there.q, port, here.q->qp_num, static_cast<std::uint8_t>(gid));
    all.reserve(times);
    for (unsigned long i = 0; i < before + times; ++i) {
      const double time = bounce(here, there, static_cast<std::uint8_t>(i % 255 + 1));
      if (i >= before) all.push_back(time);
    }
  }
  if (ibv_dealloc_pd(domain) != 0 || ibv_close_device(device) != 0) fail("teardown");
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  std::printf("%.2f\n", *middle);
  return EXIT_SUCCESS;
}
