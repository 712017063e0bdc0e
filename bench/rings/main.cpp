// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_rings CASE TIMES [BATCH]: posts and polls TIMES times, BATCH requests each, for
// valgrind to count the instructions of the functions "counted_...". What makes the requests and
// what stands in for the adapter is outside of them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <freehca/queues/counting.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "stand_in.hpp"

using namespace freehca;
using namespace freehca::queues;

namespace {

using work_requests::send_opcode;
using work_requests::send_request;

constexpr unsigned most_batch = 64;

/// The compiler knows nothing of the value.
template <class T>
T unknown(T value) {
  asm volatile("" : "+r"(value));
  return value;
}
/// ... nor of the memory.
void unknown_memory(const void* at) {
  asm volatile("" : : "r"(at) : "memory");
}

int wrong(const char* what) {
  std::fprintf(stderr, "rings: %s\n", what);
  return 1;
}

}  // namespace

// Not in the unnamed namespace, so that valgrind finds their names.
[[gnu::noinline]] status counted_post(sq& queue, const rdma_write& r) {
  return queue.post_and_ring(r);
}
[[gnu::noinline]] status counted_post_inline(sq& queue, const rdma_write_inline& r) {
  return queue.post_and_ring(r);
}
[[gnu::noinline]] status counted_post_any(sq& queue, const send_request& r) {
  return work_requests::post_and_ring(queue, r);
}
[[gnu::noinline]] unsigned counted_post_batch(sq& queue, const rdma_write* r, unsigned count) {
  const unsigned posted = queue.post_many(r, count);
  queue.ring();
  return posted;
}
[[gnu::noinline]] unsigned counted_post_stream(sq& queue, const stream<rdma_write>& r,
                                               unsigned count) {
  const unsigned posted = queue.post_many(r, count);
  queue.ring();
  return posted;
}
// The last request alone is signaled.
[[gnu::noinline]] unsigned counted_post_quiet(sq& queue, const rdma_write* r, unsigned count) {
  unsigned posted = queue.post_many(r, count - 1, request_flags::none);
  posted += queue.post_and_ring(r[posted]).ok();
  return posted;
}
[[gnu::noinline]] unsigned counted_post_quiet_stream(sq& queue, const stream<rdma_write>& r,
                                                     const rdma_write& last, unsigned count) {
  unsigned posted = queue.post_many(r, count - 1, request_flags::none);
  posted += queue.post_and_ring(last).ok();
  return posted;
}
[[gnu::noinline]] status counted_post_datagram(sq& queue, const send_datagram& r) {
  return queue.post_and_ring(r);
}
[[gnu::noinline]] unsigned counted_post_datagrams(sq& queue, const send_datagram* r,
                                                  unsigned count) {
  const unsigned posted = queue.post_many(r, count);
  queue.ring();
  return posted;
}
template <class Queue>
[[gnu::always_inline]] inline bool post_receives(Queue& queue, const receive_request* r,
                                                 unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (!queue.post(r[i]).ok()) return false;
  queue.ring();
  return true;
}
[[gnu::noinline]] bool counted_post_receives(rq& queue, const receive_request* r, unsigned count) {
  return post_receives(queue, r, count);
}
[[gnu::noinline]] bool counted_post_shared(srq& queue, const receive_request* r, unsigned count) {
  return post_receives(queue, r, count);
}
[[gnu::noinline]] unsigned counted_count(counting& counts, cq& queue, unsigned most) {
  return counts.drain(queue, most);
}
[[gnu::noinline]] unsigned counted_poll(cq& queue, work_completion* to, unsigned most) {
  return queue.poll(to, most);
}
[[gnu::noinline]] std::uint64_t counted_look(cq& queue, unsigned most) {
  std::uint64_t sum = 0;
  queue.look(most, [&sum](const completion_view& c) { sum += c.ok() ? c.wr_id : 0; });
  queue.release();
  return sum;
}

int main(int count, char** words) {
  const std::string_view which = count > 1 ? words[1] : "";
  const auto times = count > 2 ? static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)) : 0;
  const auto batch = count > 3 ? static_cast<unsigned>(std::strtoul(words[3], nullptr, 10)) : 1;
  if (times == 0 || batch == 0 || batch > most_batch) {
    std::fprintf(stderr,
                 "freehca_bench_rings "
                 "post|inline|any|batch|stream|quiet|quiet_stream|look|count|empty|"
                 "datagram|datagrams|receive|shared TIMES [BATCH]: BATCH from 1 to %u\n",
                 most_batch);
    return 2;
  }
  const bool datagrams = which == "datagram" || which == "datagrams", shared = which == "shared";
  bench::stand_in hca(which == "inline" ? 64 : 0, datagrams);
  hca.open();
  if (shared) hca.pair.shared = &hca.shared;
  counting counts;
  static address peer;
  static std::byte data[64];
  static rdma_write requests[most_batch];
  static stream<rdma_write>::place places[most_batch];
  static send_datagram messages[most_batch];
  static receive_request receives[most_batch];
  static work_completion done[most_batch];
  std::uint64_t id = 0;
  for (unsigned i = 0; i < times; ++i, id += batch) {
    if (which == "empty") {
      if (counted_poll(hca.cq, done, 1) != 0) return wrong("a completion of nothing");
      continue;
    }
    for (unsigned k = 0; k < batch; ++k)
      requests[k] = {.wr_id = id + k,
                     .remote = {unknown(std::uint64_t{0x1000}), unknown(0x77u)},
                     .data = {unknown(std::uint64_t{0x2000}), unknown(64u), unknown(0x55u)}};
    unknown_memory(requests);
    for (unsigned k = 0; k < batch; ++k) places[k] = {id + k, k * 64, k * 64};
    unknown_memory(places);
    const stream<rdma_write> alike(requests[0], places);
    unknown_memory(&alike);
    for (unsigned k = 0; k < batch; ++k) {
      messages[k] = {.wr_id = id + k,
                     .to = {&peer, unknown(0x123u), unknown(0x456u)},
                     .data = requests[k].data};
      receives[k] = {.wr_id = id + k, .list = &requests[k].data, .entries = unknown(1u)};
    }
    unknown_memory(messages);
    unknown_memory(receives);
    const bool is_quiet = which == "quiet" || which == "quiet_stream";
    bool posted = false;
    if (which == "post") {
      posted = counted_post(hca.pair.send, requests[0]).ok();
    } else if (which == "inline") {
      const rdma_write_inline r{
          .wr_id = id, .remote = requests[0].remote, .data = {data, unknown(64u)}};
      unknown_memory(&r);
      posted = counted_post_inline(hca.pair.send, r).ok();
    } else if (which == "any") {
      const send_request r{.wr_id = id,
                           .list = &requests[0].data,
                           .entries = 1,
                           .opcode = unknown(send_opcode::rdma_write),
                           .rkey = 0x77,
                           .remote_address = 0x1000};
      unknown_memory(&r);
      posted = counted_post_any(hca.pair.send, r).ok();
    } else if (which == "datagram") {
      posted = counted_post_datagram(hca.pair.send, messages[0]).ok();
    } else if (datagrams) {
      posted = counted_post_datagrams(hca.pair.send, messages, batch) == batch;
    } else if (which == "receive") {
      posted = counted_post_receives(hca.pair.receive, receives, batch);
    } else if (shared) {
      posted = counted_post_shared(hca.shared, receives, batch);
    } else if (which == "stream") {
      posted = counted_post_stream(hca.pair.send, alike, batch) == batch;
    } else if (which == "quiet") {
      posted = counted_post_quiet(hca.pair.send, requests, batch) == batch;
    } else if (which == "quiet_stream") {
      posted = counted_post_quiet_stream(hca.pair.send, alike, requests[batch - 1], batch) == batch;
    } else if (which == "batch" || which == "look" || which == "count") {
      posted = counted_post_batch(hca.pair.send, requests, batch) == batch;
    } else {
      return wrong("no such case");
    }
    if (!posted) return wrong("a post was refused");
    if (shared || which == "receive") {
      hca.complete_receives(batch, shared);
    } else if (is_quiet) {
      hca.complete_last_of(batch);
      if (counted_poll(hca.cq, done, most_batch) != 1 || done[0].wr_id != id + batch - 1 ||
          hca.pair.send.outstanding() != 0)
        return wrong("another completion than that of the last request");
      continue;
    } else {
      hca.complete(batch);
    }
    if (which == "count") {
      if (counted_count(counts, hca.cq, batch) != batch || counts.succeeded != id + batch)
        return wrong("other numbers than posts");
      continue;
    }
    if (which == "look") {
      const std::uint64_t sum = counted_look(hca.cq, batch);
      if (sum != batch * id + batch * (batch - 1) / 2) return wrong("other completions than posts");
      continue;
    }
    if (counted_poll(hca.cq, done, batch) != batch) return wrong("completions are missing");
    for (unsigned k = 0; k < batch; ++k)
      if (!done[k].ok() || done[k].wr_id != id + k) return wrong("a wrong completion");
  }
  return hca.cq.dropped() == 0 ? 0 : wrong("entries were dropped");
}
