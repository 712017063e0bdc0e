// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_driver_linux [bring-up]: what vfio.cpp does, by libibverbs' calls into libmlx4 over
// Linux's mlx4_ib; or the bring-up alone, by modprobe.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "linux_program.hpp"

namespace {

using namespace freehca::bench;

// ---- What is counted: as a program calls it

[[gnu::noinline]] std::uint64_t count_shared(ibv_srq* to, ibv_recv_wr* requests, unsigned n) {
  ibv_recv_wr* bad = nullptr;
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i)
    if (ibv_post_srq_recv(to, requests + i, &bad) != 0) fail("ibv_post_srq_recv");
  return executed() - began;
}

[[gnu::noinline]] std::uint64_t count_empty_polls(ibv_cq* of, ibv_wc* to, unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i)
    if (ibv_poll_cq(of, 1, to) != 0) fail("a completion of nothing");
  return executed() - began;
}

// ---- Rounds

request_cost writes(const device& in, ibv_qp* q, unsigned batch, unsigned flags) {
  requests r(in, IBV_WR_RDMA_WRITE, batch, flags);
  return for_each_request([&](unsigned n) {
    round_cost c;
    c.post = count_posts(q, r.sends.data(), n, batch);
    let_device_work();
    c.poll = count_polls(in.sent, done, n, batch);
    return c;
  });
}

// The last request of each batch alone is signaled.
request_cost quiet_writes(const device& in, ibv_qp* q, unsigned batch) {
  requests r(in, IBV_WR_RDMA_WRITE, batch, 0);
  for (unsigned i = 0; i < ring; ++i)
    if ((i + 1) % batch != 0) r.sends[i].send_flags = 0;
  unknown_memory(&r);
  return for_each_request([&](unsigned n) {
    round_cost c;
    c.post = count_posts(q, r.sends.data(), n, batch);
    let_device_work();
    c.poll = count_polls(in.sent, done, n / batch, 1);
    return c;
  });
}

// `post` posts n receives and counts.
template <class Post>
request_cost receives(const device& in, ibv_qp* q, Post post) {
  requests r(in, IBV_WR_SEND, 1, 0);
  return for_each_request([&](unsigned n) {
    round_cost c;
    c.post = post(r.receives.data(), n);
    count_posts(q, r.sends.data(), n, 1);
    let_device_work();
    count_polls(in.sent, done, n, 1);
    c.poll = count_polls(in.received, done, n, 1);
    return c;
  });
}

// Arm, one write, sleep until its event, acknowledge, poll.
double events(const idler& idle, const device& in, ibv_qp* q) {
  requests r(in, IBV_WR_RDMA_WRITE, 1, 0);
  return for_each_call(
             idle, 16,
             [&](unsigned) {
               if (ibv_req_notify_cq(in.sent, 0) != 0) fail("ibv_req_notify_cq");
               count_posts(q, r.sends.data(), 1, 1);
               ibv_cq* of = nullptr;
               void* cookie = nullptr;
               if (ibv_get_cq_event(in.channel, &of, &cookie) != 0 || of != in.sent)
                 fail("ibv_get_cq_event");
               ibv_ack_cq_events(of, 1);
               count_polls(in.sent, done, 1, 1);
             },
             [](unsigned) {})
      .post;
}

device open() {
  device in;
  in.context = open_device();
  if (ibv_query_port(in.context, 1, &in.port) != 0) fail("ibv_query_port");
  in.domain = ibv_alloc_pd(in.context);
  in.channel = ibv_create_comp_channel(in.context);
  in.sent = ibv_create_cq(in.context, 2 * ring, nullptr, in.channel, 0);
  in.received = ibv_create_cq(in.context, 2 * ring, nullptr, nullptr, 0);
  std::memset(memory, 1, sizeof memory);
  in.region = ibv_reg_mr(in.domain, memory, sizeof memory,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                             IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
  if (in.domain == nullptr || in.channel == nullptr || in.sent == nullptr ||
      in.received == nullptr || in.region == nullptr)
    fail("objects");
  return in;
}

void data_path(const device& in) {
  ibv_qp* const plain = connected(in, make(in, ring, 0));
  const request_cost single = writes(in, plain, 1, 0);
  tell("post", single.post);
  tell("poll", single.poll);
  for (const unsigned batch : {1u, 8u, 32u}) {
    const request_cost c = writes(in, plain, batch, 0);
    const std::string of = std::to_string(batch);
    tell(("post, batches of " + of).c_str(), c.post);
    tell(("poll, batches of " + of).c_str(), c.poll);
    // It has no other way to poll than into an array.
    if (batch == 32) tell("poll into an array, batches of 32", c.poll);
  }
  // It has no other way to post a stream than a list of requests.
  const request_cost stream = writes(in, plain, 32, 0), quiet = quiet_writes(in, plain, 32);
  tell("post, stream in batches of 32", stream.post);
  tell("poll, stream in batches of 32", stream.poll);
  for (const std::string row : {"one signaled in 32", "stream with one signaled in 32"}) {
    tell(("post, " + row).c_str(), quiet.post);
    tell(("poll, " + row).c_str(), quiet.poll);
  }
  tell("poll of an empty queue", for_each_request([&](unsigned n) {
                                   return round_cost{count_empty_polls(in.sent, done, n), 0};
                                 }).post);
  ibv_qp* const in_place = connected(in, make(in, ring, message_bytes));
  tell("post, 64 bytes inline", writes(in, in_place, 1, IBV_SEND_INLINE).post);
  destroy(in_place);

  const request_cost own =
      receives(in, plain, [&](ibv_recv_wr* r, unsigned n) { return count_receives(plain, r, n); });
  tell("post of a receive", own.post);
  tell("poll of a receive", own.poll);

  ibv_srq_init_attr a{};
  a.attr = {.max_wr = ring, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const shared = ibv_create_srq(in.domain, &a);
  if (shared == nullptr) fail("ibv_create_srq");
  ibv_qp* const sharing = connected(in, make(in, ring, 0, shared));
  const request_cost theirs =
      receives(in, sharing, [&](ibv_recv_wr* r, unsigned n) { return count_shared(shared, r, n); });
  tell("post of a shared receive", theirs.post);
  tell("poll of a shared receive", theirs.poll);
  destroy(sharing);
  if (ibv_destroy_srq(shared) != 0) fail("ibv_destroy_srq");

  destroy(plain);
}

request_cost registrations(const idler& idle, const device& in, std::byte* of, std::size_t bytes) {
  ibv_mr* regions[64];
  return for_each_call(
      idle, 4,
      [&](unsigned i) {
        regions[i] =
            ibv_reg_mr(in.domain, of, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        if (regions[i] == nullptr) fail("ibv_reg_mr");
      },
      [&](unsigned i) {
        if (ibv_dereg_mr(regions[i]) != 0) fail("ibv_dereg_mr");
      });
}

// ibv_reg_mr() pins and maps the pages in the same call of the kernel that registers them. What a
// region without a page would take is estimated from regions of 1 page and of 256 pages.
request_cost without_pages(const request_cost& one, const request_cost& all) {
  constexpr unsigned pages = region_bytes / 4096;
  constexpr double more_pages = pages - 1;
  return {one.post - (all.post - one.post) / more_pages,
          one.poll - (all.poll - one.poll) / more_pages};
}

void calls(const idler& idle, const device& in) {
  ibv_qp* const q = connected(in, make(in, ring, 0));
  tell("one write with its completion event", events(idle, in, q));
  destroy(q);
  ibv_qp* queues[64];
  const request_cost pairs = for_each_call(
      idle, 8, [&](unsigned i) { queues[i] = make(in, 16, 0); },
      [&](unsigned i) { destroy(queues[i]); });
  tell("create a queue pair", pairs.post);
  tell("destroy a queue pair", pairs.poll);
  alignas(4096) static std::byte fresh[region_bytes];
  std::memset(fresh, 1, sizeof fresh);
  const request_cost first = registrations(idle, in, fresh, region_bytes);
  const request_cost rest = without_pages(registrations(idle, in, fresh, 4096), first);
  // It has no other way to register memory.
  for (const std::string what : {"1 MiB", "1 MiB of the program"}) {
    tell(("register " + what).c_str(), first.post);
    tell(("deregister " + what).c_str(), first.poll);
    tell(("register " + what + ", the rest").c_str(), rest.post);
    tell(("deregister " + what + ", the rest").c_str(), rest.poll);
  }
  // `in.region` is over the same memory, and stays.
  const request_cost second = registrations(idle, in, memory, region_bytes);
  tell("register 1 MiB a second time", second.post);
  tell("deregister 1 MiB that stays registered", second.poll);
}

void modprobe(const char* module) {
  const pid_t child = fork();
  if (child == 0) {
    execlp("modprobe", "modprobe", module, nullptr);
    _exit(127);
  }
  int how = 0;
  if (child < 0 || waitpid(child, &how, 0) != child || how != 0) fail(module);
}

bool active(const char* state_file) {
  const int file = ::open(state_file, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[32] = {};
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  return got > 0 && std::strstr(text, "ACTIVE") != nullptr;
}

// Each look costs some thousand instructions and a command: few of them.
void bring_up(const idler& idle) {
  idle.go_on();
  const std::uint64_t began = idle.others();
  modprobe("mlx4_core");
  modprobe("mlx4_ib");
  for (unsigned looks = 0; !active("/sys/class/infiniband/mlx4_0/ports/1/state") ||
                           !active("/sys/class/infiniband/mlx4_0/ports/2/state");
       ++looks) {
    if (looks == 500) fail("the ports are not active");
    let_device_work();
  }
  const std::uint64_t took = idle.others() - began;
  idle.rest();
  tell("bring-up", static_cast<double>(took));
}

}  // namespace

int main(int argc, char** argv) {
  tell_driver("libmlx4");
  need_counted_clock();
  const idler idle;
  idle.need_idleness();
  if (argc == 2 && std::strcmp(argv[1], "bring-up") == 0) {
    bring_up(idle);
    return EXIT_SUCCESS;
  }
  if (argc != 1) {
    std::fprintf(stderr, "usage: %s [bring-up]\n", argv[0]);
    return 2;
  }
  const device in = open();
  data_path(in);
  for (unsigned i = 0; i < call_rounds; ++i) calls(idle, in);
  measure_requests(in);
  for (unsigned i = 0; i < call_rounds; ++i) measure_objects(in, idle);
  if (ibv_dereg_mr(in.region) != 0 || ibv_destroy_cq(in.sent) != 0 ||
      ibv_destroy_cq(in.received) != 0 || ibv_destroy_comp_channel(in.channel) != 0 ||
      ibv_dealloc_pd(in.domain) != 0 || ibv_close_device(in.context) != 0)
    fail("teardown");
  return EXIT_SUCCESS;
}
