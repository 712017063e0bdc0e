// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_layering_paths [planted]: runs what short_paths.py measures under callgrind.
// paths_create() creates a queue pair. paths_event() handles the event queue entry of one armed
// completion queue. paths_idle() polls when there is no work. Each function runs once. With
// `planted`, the first two also call planted::file_and_call(), which the script must report.
#include <cstdio>
#include <cstring>

#include "planted.hpp"
#include "rig.hpp"

using namespace freehca;

namespace {

bool plants = false;
unsigned creations = 0, events = 0;

void created(operation&, void*) noexcept {
  ++creations;
}
void completed(void*, cq_handle, void*) noexcept {
  ++events;
}

connection_attributes to_itself(bench::rig& rig, qp_handle pair) {
  connection_attributes a;
  a.remote_write = true;
  a.path_mtu = rig.adapter.port(1).active_mtu;
  a.remote_qpn = qpn_of(rig.objects, pair);
  a.address = infiniband_path{.port = 1, .dlid = rig.adapter.port(1).lid};
  return a;
}

}  // namespace

// These functions are not in the unnamed namespace, so that valgrind finds their names.
[[gnu::noinline]] status paths_create(bench::rig& rig, create_queue_pair& create) {
  create.then(&created, nullptr);
  create.start(rig.objects, {.pd = rig.domain,
                             .send_cq = rig.completions,
                             .receive_cq = rig.completions,
                             .sends = 1,
                             .receives = 1});
  if (plants) planted::file_and_call();
  return rig.await(create);
}
[[gnu::noinline]] unsigned paths_event(event_context& queue) {
  if (plants) planted::file_and_call();
  return queue.poll();
}
[[gnu::noinline]] unsigned paths_idle(verbs& objects) {
  const unsigned done = objects.poll();
  return done + (objects.next_deadline() == 0);
}

namespace {

status run(bench::rig& rig) {
  FREEHCA_TRY(rig.open({.completion = &completed}));
  create_queue_pair create;
  FREEHCA_TRY(paths_create(rig, create));
  const qp_handle pair = create.made();
  const connection_attributes itself = to_itself(rig, pair);
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    modify_queue_pair modify;
    modify.start(rig.objects, pair, to, itself);
    FREEHCA_TRY(rig.await(modify));
  }
  rig.objects.find(rig.completions)->rings.arm();
  // A write of no bytes refers to no memory.
  FREEHCA_TRY(rig.objects.find(pair)->rings.send.post_and_ring(queues::rdma_write{}));
  rig.machine.advance(1'000'000);
  if (paths_event(rig.adapter.completion_context(0)) != 1) return transport_error::bad_reply;
  queues::work_completion done;
  if (rig.objects.find(rig.completions)->rings.poll(&done, 1) != 1 || !done.ok())
    return transport_error::bad_reply;
  // These polls arm the event queues again, and the one behind them has no work.
  rig.objects.poll_all(8);
  rig.machine.advance(1'000'000);
  if (paths_idle(rig.objects) != 0) return transport_error::bad_reply;
  destroy_queue_pair destroy;
  destroy.start(rig.objects, pair);
  return rig.await(destroy);
}

}  // namespace

int main(int count, char** words) {
  plants = count > 1 && std::strcmp(words[1], "planted") == 0;
  bench::rig rig({}, 1);
  status outcome = run(rig);
  if (const status closed = rig.close(); outcome.ok()) outcome = closed;
  if (outcome.ok() && creations == 1 && events == 1) return 0;
  std::fprintf(stderr, "paths: code %u, %u creations, %u events\n",
               static_cast<unsigned>(outcome.code()), creations, events);
  return 1;
}
