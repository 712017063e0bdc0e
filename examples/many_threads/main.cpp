// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Four threads, each with its own objects and its own event queue.
// Usage: many_threads 0000:03:00.0
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/objects/verbs.hpp>

using namespace freehca;

constexpr unsigned threads = 4, writes = 500;
constexpr verbs_budget kinds = verbs_budget{}
                                   .with<protection_domain>(1)
                                   .with<memory_region>(1)
                                   .with<completion_queue>(1)
                                   .with<queue_pair>(2);

struct alignas(16) unit {
  std::byte bytes[16];
};
struct worker {
  std::vector<unit> storage;
  verbs objects;
  dma_region memory;
  status outcome;
  std::thread thread;

  /// Starts an operation of this event owner and polls until it is done. The control owner sends
  /// the operation's commands, on its own thread.
  template <class Operation, class... Arguments>
  status run(Operation&& op, const Arguments&... arguments) {
    op.start(objects, arguments...);
    while (!op.done()) objects.poll();
    return op.outcome();
  }

  status write(std::uint16_t lid) {
    const auto pd = objects.create<protection_domain>();
    if (!pd.ok()) return pd.error();
    create_memory_region region;
    FREEHCA_TRY(run(
        region, memory_region_attributes{.pd = pd.value(),
                                         .pages = page_list(memory, 12),
                                         .access = {.local_write = true, .remote_write = true}}));
    create_completion_queue cq;
    FREEHCA_TRY(run(cq, completion_queue_attributes{.entries = 16}));
    create_queue_pair pair[2];
    for (create_queue_pair& p : pair)
      FREEHCA_TRY(run(p, queue_pair_attributes{.pd = pd.value(),
                                               .send_cq = cq.made(),
                                               .receive_cq = cq.made(),
                                               .sends = 8,
                                               .receives = 1}));
    for (unsigned i = 0; i < 2; ++i) {
      connection_attributes a;
      a.remote_write = true;
      a.remote_qpn = qpn_of(objects, pair[1 - i].made());
      a.address = infiniband_path{.dlid = lid};
      using layouts::qp_state;
      for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts})
        FREEHCA_TRY(run(modify_queue_pair(), pair[i].made(), to, a));
    }
    const std::uint32_t key = key_of(objects, region.made());
    for (unsigned n = 0; n < writes; ++n) {
      std::memset(memory.host, static_cast<int>(n), 2048);
      FREEHCA_TRY(objects.find(pair[0].made())
                      ->rings.send.post_and_ring(queues::rdma_write{
                          .wr_id = n, .remote = {2048, key}, .data = {0, 2048, key}}));
      queues::work_completion done;
      while (objects.find(cq.made())->rings.poll(&done, 1) == 0) objects.poll();
      if (!done.ok() || std::memcmp(memory.host, memory.host + 2048, 2048) != 0)
        return transport_error::bad_reply;
    }
    for (create_queue_pair& p : pair) FREEHCA_TRY(run(destroy_queue_pair(), p.made()));
    FREEHCA_TRY(run(destroy_completion_queue(), cq.made()));
    FREEHCA_TRY(run(destroy_memory_region(), region.made()));
    return objects.destroy(pd.value());
  }
};

int main(int argc, char** argv) {
  easy::sizes size;
  size.budget.completion_event_queues = threads;
  blocking::session session(argc > 1 ? argv[1] : "", size);
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  if (const status up = session.wait(session.adapter().bring_up()); !up.ok())
    return std::fprintf(stderr, "bring-up: %s\n", blocking::words(up).c_str()), 1;

  device& hca = session.adapter().hardware();
  std::deque<worker> workers(threads);
  std::atomic<unsigned> running{threads};
  for (unsigned i = 0; i < threads; ++i) {
    worker& w = workers[i];
    w.memory = hca.arena().allocate(4096).value();
    w.storage.resize(verbs::event_owner_storage_bytes(kinds) / sizeof(unit));
    w.outcome = w.objects.open(hca, kinds, {.completion_context = i}, w.storage.data()->bytes,
                               w.storage.size() * sizeof(unit));
    w.thread = std::thread([&w, &running, lid = hca.port(1).lid] {
      if (w.outcome.ok()) w.outcome = w.write(lid);
      --running;
    });
  }
  // The control owner sends the commands that the workers' operations request.
  while (running != 0) session.look();
  bool good = true;
  for (worker& w : workers) {
    w.thread.join();
    good &= w.outcome.ok() && w.objects.close().ok();
    std::printf("%u writes: %s\n", writes, blocking::words(w.outcome).c_str());
  }
  // If a worker failed, its remaining objects are released by a reset. Its event owner must be
  // polled to learn of the reset.
  auto down = session.adapter().tear_down();
  while (!down.done()) {
    session.look();
    for (worker& w : workers) w.objects.poll();
  }
  for (worker& w : workers) {
    good &= w.objects.close().ok();
    hca.arena().free(w.memory);
  }
  return down.outcome().ok() && good ? 0 : 1;
}
