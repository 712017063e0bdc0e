// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "scenarios.hpp"

#include <cstring>

#include <freehca/hal/cache.hpp>
#include <freehca/hca/kinds/resizable_completion_queue.hpp>
#include <freehca/hca/kinds/xrc_queue_pair.hpp>
#include <freehca/hca/kinds/xrc_receive_queue.hpp>
#include <freehca/loopback_traffic/traffic.hpp>
#include <freehca/queues/blueflame.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/xrc_requests.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "conformance_rig.hpp"
#include "easy_rig.hpp"
#include "in_process_host.hpp"
#include "rc_pair.hpp"

namespace freehca::testing {

namespace {

using queues::data_entry;
using queues::rdma_read;
using queues::rdma_write;

in_process::machine_options incoherent() {
  in_process::machine_options o;
  o.incoherent = true;
  o.takes_fills = false;
  return o;
}

/// From before the driver's first step to behind its last.
template <class Rig>
struct watched {
  watched(Rig& of, const cache_watch& watch) : rig(of), how(watch) {
    how.begin(*rig.machine.cache());
  }
  ~watched() { how.end(*rig.machine.cache()); }
  Rig& rig;
  const cache_watch& how;
};

void traffic(const cache_watch& watch) {
  for (const layouts::qp_service service :
       {layouts::qp_service::rc, layouts::qp_service::uc, layouts::qp_service::ud})
    for (const bool shared : {false, true}) {
      blocking::in_process_host host(incoherent());
      const watched all(host, watch);
      loopback_traffic::traffic_memory memory;
      blocking::session s(host, {.budget = {}, .objects = every_kind()});
      ASSERT_TRUE(s.open().ok());
      ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
      const auto r = loopback_traffic::run_traffic(
          s, memory,
          {.messages = 2, .service = service, .shared_receives = shared, .counted = shared});
      EXPECT_TRUE(r.ok()) << r.wrong;
      EXPECT_TRUE(s.tear_down().ok());
    }
}

/// A pair with buffers, which the tests fill behind the cache's back, as if they were cleaned.
struct pair_world {
  explicit pair_world(const cache_watch& watch, const queue_pair_attributes& shape = pair_shape())
      : rig(options()), watching(rig, watch), pair(rig, shape) {
    pair.connect();
    for (std::size_t i = 0; i < source.bytes(); ++i) *source.at(i) = static_cast<std::byte>(i * 7);
  }
  static rig_options options() {
    rig_options o = exact();
    o.machine = incoherent();
    return o;
  }
  static queue_pair_attributes pair_shape() {
    return {.sends = 16, .receives = 16, .gather = 20, .scatter = 8, .inline_bytes = 300};
  }
  queues::remote_memory there() { return {target.address(), target.key}; }
  template <class Request>
  void done(unsigned side, const Request& r) {
    const status posted = testing::post_and_ring(pair.send(side), r);
    ASSERT_TRUE(posted.ok()) << words(posted);
    const queues::work_completion w = pair.next(side);
    ASSERT_TRUE(w.ok()) << name_of(w.status);
  }
  void expect_arrived(std::size_t bytes) {
    cache::invalidate(target.at(0), bytes);
    EXPECT_EQ(std::memcmp(target.at(0), source.at(0), bytes), 0);
  }

  verbs_rig rig;
  watched<verbs_rig> watching;
  rc_pair pair;
  static constexpr memory_access all{
      .local_write = true, .remote_read = true, .remote_write = true};
  registered_buffer source{rig, pair.domain, 4096, 64, all}, target{rig, pair.domain, 4096, 0, all};
};

void requests_of_all_lengths(const cache_watch& watch) {
  pair_world w(watch);
  data_entry list[20];
  for (unsigned n = 0; n < 20; ++n) list[n] = w.source.entry(n * 8, 8);
  // More than round the ring: stamps stand where WQEs stood.
  for (unsigned n = 0; n < 200; ++n) {
    if (n % 3 == 0) w.done(0, queues::rdma_write_list{.remote = w.there(), .data = {list, 20}});
    else if (n % 3 == 1)
      w.done(0, queues::rdma_write_inline{.remote = w.there(), .data = {w.source.at(0), 300}});
    else w.done(0, rdma_write{.remote = w.there(), .data = w.source.entry(0, 64)});
    w.expect_arrived(n % 3 == 0 ? 160 : n % 3 == 1 ? 300 : 64);
  }
}

void requests_of_any_kind(const cache_watch& watch) {
  pair_world w(watch);
  const data_entry list[] = {w.source.entry(0, 100), w.source.entry(100, 200)};
  work_requests::send_request r;
  r.opcode = work_requests::send_opcode::rdma_write;
  r.list = list;
  r.entries = 2;
  r.remote_address = w.target.address();
  r.rkey = w.target.key;
  for (unsigned n = 0; n < 40; ++n) w.done(0, r);
  w.expect_arrived(300);
}

/// A queue pair of another shape in the place of one of a pair, as long as this lives.
struct replaced_queue {
  replaced_queue(verbs_rig& of, rc_pair& in, unsigned which, queue_pair_attributes shape)
      : rig(of), pair(in), side(which) {
    if (!shape.pd) shape.pd = pair.domain;
    if (!shape.send_cq) shape.send_cq = shape.receive_cq = pair.completion[side];
    create_queue_pair create;
    create.start(rig.objects, shape);
    EXPECT_TRUE(rig.await(create).ok());
    other = create.made();
    std::swap(other, pair.queue[side]);
    EXPECT_TRUE(pair.move(1 - side, layouts::qp_state::reset).ok());
    pair.connect();
  }
  ~replaced_queue() {
    std::swap(other, pair.queue[side]);
    destroy_queue_pair destroy;
    destroy.start(rig.objects, other);
    EXPECT_TRUE(rig.await(destroy).ok());
  }
  replaced_queue(const replaced_queue&) = delete;
  replaced_queue& operator=(const replaced_queue&) = delete;
  verbs_rig& rig;
  rc_pair& pair;
  unsigned side;
  qp_handle other;
};

/// First receives of one entry each, then also of several.
template <class Queue>
void receive_into(pair_world& w, Queue& receives) {
  for (unsigned n = 0; n < 60; ++n) {
    const bool several = n >= 30 && n % 2 == 0;
    const data_entry list[] = {w.target.entry(0, 10), w.target.entry(10, 20),
                               w.target.entry(30, 34)};
    ASSERT_TRUE(receives.post_and_ring({.list = list, .entries = several ? 3u : 1u}).ok());
    w.done(0, queues::send{.data = w.source.entry(0, several ? 64 : 10)});
    ASSERT_TRUE(w.pair.next(1).ok());
    w.expect_arrived(several ? 64 : 10);
  }
}

void receives(const cache_watch& watch) {
  pair_world w(watch);
  receive_into(w, w.pair.receive(1));
}

void shared_receives(const cache_watch& watch) {
  pair_world w(watch);
  create_shared_receive_queue create;
  create.start(w.rig.objects, {.pd = w.pair.domain, .receives = 7, .scatter = 7});
  ASSERT_TRUE(w.rig.await(create).ok());
  {
    queue_pair_attributes shape = w.pair_shape();
    shape.shared = create.made();
    shape.receives = 0;
    const replaced_queue joined(w.rig, w.pair, 1, shape);
    receive_into(w, w.rig.objects.find(create.made())->rings);
  }
  destroy_shared_receive_queue destroy;
  destroy.start(w.rig.objects, create.made());
  EXPECT_TRUE(w.rig.await(destroy).ok());
}

/// Creates an object, and destroys it at its own end.
template <class K>
struct made {
  made(verbs_rig& of, const typename K::attributes& a) : rig(of) {
    create_object<K> create;
    create.start(rig.objects, a);
    EXPECT_TRUE(rig.await(create).ok());
    handle = create.made();
  }
  ~made() {
    destroy_object<K> destroy;
    destroy.start(rig.objects, handle);
    EXPECT_TRUE(rig.await(destroy).ok());
  }
  made(const made&) = delete;
  made& operator=(const made&) = delete;
  K& operator*() const { return *rig.objects.find(handle); }
  verbs_rig& rig;
  freehca::handle<K> handle;
};

/// A completion queue for XRC takes a receive that names its queue.
void receives_of_extended_connections(const cache_watch& watch) {
  pair_world w(watch);
  verbs_rig& rig = w.rig;
  const xrcd_handle domain = rig.objects.create<xrc_domain>().value();
  {
    const made<xrc_completion_queue> done(rig, {.entries = 63});
    const made<xrc_receive_queue> queue(
        rig, {.pd = w.pair.domain, .domain = domain, .cq = done.handle, .receives = 7});
    const cq_handle sent = w.pair.completion[0];
    const made<xrc_queue_pair> initiator(rig, {.pd = w.pair.domain, .cq = sent, .sends = 16});
    const made<xrc_queue_pair> target(rig, {.domain = domain, .pd = w.pair.domain, .cq = sent});
    using layouts::qp_state;
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
      for (const auto& [which, other] : {std::pair(initiator.handle, target.handle),
                                         std::pair(target.handle, initiator.handle)}) {
        modify_queue_pair modify;
        modify.start(rig.objects, which, to,
                     {.path_mtu = rig.adapter.port(1).active_mtu,
                      .remote_qpn = qpn_of(rig.objects, other),
                      .address = infiniband_path{.dlid = rig.adapter.port(1).lid}});
        ASSERT_TRUE(rig.await(modify).ok());
      }
    const data_entry to = w.target.entry(0, 64);
    for (unsigned n = 0; n < 80; ++n) {
      ASSERT_TRUE((*queue).rings.post_and_ring({.list = &to, .entries = 1}).ok());
      const queues::xrc<queues::send> request{{.data = w.source.entry(0, 64)}, (*queue).number};
      ASSERT_TRUE((*initiator).rings.send.post_and_ring(request).ok());
      queues::work_completion received;
      ASSERT_TRUE(rig.run([&] { return (*done).take(&received, 1) == 1; }, 60'000'000'000));
      EXPECT_TRUE(received.ok());
      ASSERT_TRUE(w.pair.next(0).ok());
      w.expect_arrived(64);
    }
  }
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

/// A completion queue for XRC takes its other completions in this way.
void completions_with_named_queues(const cache_watch& watch) {
  pair_world w(watch);
  const auto none = [](void*, std::uint32_t) -> queues::qp_rings* { return nullptr; };
  queues::cq& from = w.rig.objects.find(w.pair.completion[0])->rings;
  constexpr unsigned together = 8;  // the first entry of a call has been looked at before
  for (unsigned n = 0; n < 40; ++n) {
    const rdma_write request{.remote = w.there(), .data = w.source.entry(0, 64)};
    for (unsigned i = 0; i < together; ++i)
      ASSERT_TRUE(testing::post_and_ring(w.pair.send(0), request).ok());
    w.rig.machine.advance(1'000'000);
    queues::work_completion done[together];
    unsigned taken = 0;
    const auto all_are_taken = [&] {
      taken += from.take_named(done + taken, together - taken, none, nullptr);
      return taken == together;
    };
    ASSERT_TRUE(w.rig.run(all_are_taken, 60'000'000'000));
    for (const queues::work_completion& each : done) EXPECT_TRUE(each.ok());
  }
  w.expect_arrived(64);
}

void pushes_by_blueflame(const cache_watch& watch) {
  pair_world w(watch);
  queues::blueflame by;
  ASSERT_TRUE(by.open(w.rig.adapter.uar().blueflame_register(
                          0, w.rig.adapter.capabilities().log_blueflame_bytes))
                  .ok());
  for (unsigned n = 0; n < 40; ++n) {
    ASSERT_TRUE(
        w.pair.send(0)
            .post_and_push(by, rdma_write{.remote = w.there(), .data = w.source.entry(0, 64)})
            .ok());
    ASSERT_TRUE(w.pair.next(0).ok());
    w.expect_arrived(64);
  }
}

void registrations(const cache_watch& watch) {
  pair_world w(watch);
  create_fast_memory_region create;
  create.start(w.rig.objects, {.pd = w.pair.domain, .most_pages = 4});
  ASSERT_TRUE(w.rig.await(create).ok());
  auto pages = w.rig.machine.memory().allocate_scattered(4);
  const dma_region list = w.rig.machine.memory().allocate(queues::page_list_bytes(4), 64);
  for (unsigned n = 0; n < 3; ++n) {
    ASSERT_TRUE(
        queues::write_page_list(list, {pages.addresses.data(), 12, 0, std::size_t{4} * 4096}).ok());
    const queues::registration r{
        w.rig.objects.find(create.made())->next_key(),
        list.device_address,
        0x5000,
        4 * 4096,
        12,
        queues::registration_rights::local_write | queues::registration_rights::remote_write};
    w.done(1, queues::fast_register{.memory = r});
    w.done(0, rdma_write{.remote = {0x5000, r.key}, .data = w.source.entry(0, 4096)});
    cache::invalidate(pages.memory, 4096);
    EXPECT_EQ(std::memcmp(pages.memory, w.source.at(0), 4096), 0);
    w.done(1, queues::local_invalidate{.memory = {r.key}});
  }
  destroy_memory_region destroy;
  destroy.start(w.rig.objects, create.made());
  EXPECT_TRUE(w.rig.await(destroy).ok());
  w.rig.machine.memory().release(pages);
  w.rig.machine.memory().release(list);
}

/// Completions of a queue pair that is reset stand between those of another one.
void forgotten_completions(const cache_watch& watch) {
  for (unsigned before = 0; before < 4; ++before) {
    pair_world w(watch);
    rc_pair other(w.rig, w.pair_shape());
    other.connect();
    queue_pair_attributes shape = w.pair_shape();
    shape.send_cq = shape.receive_cq = w.pair.completion[0];
    shape.pd = w.pair.domain;
    const replaced_queue joined(w.rig, other, 0, shape);
    // Nobody polls meanwhile.
    const auto post = [&](rc_pair& of) {
      ASSERT_TRUE(of.send(0)
                      .post_and_ring(rdma_write{.wr_id = &of == &other ? 2u : 1u,
                                                .remote = w.there(),
                                                .data = w.source.entry(0, 8)})
                      .ok());
      w.rig.run([] { return false; }, 1'000'000);
    };
    for (unsigned n = 0; n < 3 + before; ++n) post(n % 2 == 0 ? w.pair : other);
    ASSERT_TRUE(other.move(0, layouts::qp_state::reset).ok());
    post(w.pair);
    for (unsigned n = 0; n < (3 + before + 1) / 2 + 1; ++n) {
      const queues::work_completion c = w.pair.next(0);
      EXPECT_TRUE(c.ok());
      EXPECT_EQ(c.wr_id, 1u);
    }
  }
}

/// Begun anew with the same rings.
void resets_of_queue_pairs(const cache_watch& watch) {
  pair_world w(watch);
  for (unsigned n = 0; n < 3; ++n) {
    ASSERT_TRUE(w.pair.receive(1).post_and_ring({}).ok());
    w.done(0, rdma_write{.remote = w.there(), .data = w.source.entry(0, 64)});
    for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(w.pair.move(i, layouts::qp_state::reset).ok());
    w.pair.connect();
  }
}

void completions_that_are_armed_for(const cache_watch& watch) {
  pair_world w(watch);
  for (unsigned n = 0; n < 5; ++n) {
    w.pair.cq(0).arm();
    ASSERT_TRUE(w.pair.send(0)
                    .post_and_ring(rdma_write{.remote = w.there(), .data = w.source.entry(0, 8)})
                    .ok());
    // The event comes, or the ring is looked at again.
    ASSERT_TRUE(w.rig.run([&] { return w.pair.cq(0).pending(); }));
    queues::work_completion done[4];
    EXPECT_EQ(w.pair.cq(0).poll(done, 4), 1u);
    EXPECT_TRUE(done[0].ok());
    w.pair.cq(0).on_event();
  }
}

/// Completions that nobody has polled move to another ring.
void resized_completion_queues(const cache_watch& watch) {
  verbs_rig rig(pair_world::options());
  const watched all(rig, watch);
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  create_resizable_completion_queue made;
  made.start(rig.objects, {.entries = 31});
  ASSERT_TRUE(rig.await(made).ok());
  qp_handle pair[2];
  for (qp_handle& each : pair) {
    create_queue_pair create;
    create.start(rig.objects, {.pd = domain,
                               .send_cq = made.made(),
                               .receive_cq = made.made(),
                               .sends = 16,
                               .receives = 16});
    ASSERT_TRUE(rig.await(create).ok());
    each = create.made();
  }
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts})
    for (unsigned i = 0; i < 2; ++i) {
      connection_attributes a;
      a.remote_qpn = qpn_of(rig.objects, pair[1 - i]);
      a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
      modify_queue_pair move;
      move.start(rig.objects, pair[i], to, a);
      ASSERT_TRUE(rig.await(move).ok());
    }
  for (const std::uint32_t entries : {63u, 15u, 31u, 127u}) {
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_TRUE(rig.objects.find(pair[1])->rings.receive.post_and_ring({.wr_id = i}).ok());
      ASSERT_TRUE(
          rig.objects.find(pair[0])->rings.send.post_and_ring(queues::send_list{.wr_id = i}).ok());
    }
    rig.run([] { return false; }, clock::milliseconds(1));
    create_completion_ring ring;
    ring.start(rig.objects, {.entries = entries});
    ASSERT_TRUE(rig.await(ring).ok());
    resize_completion_queue resize;
    resize.start(rig.objects, made.made(), ring.made());
    ASSERT_TRUE(rig.await(resize).ok());
    destroy_completion_ring drop;
    drop.start(rig.objects, ring.made());
    ASSERT_TRUE(rig.await(drop).ok());
    queues::work_completion done[8];
    EXPECT_EQ(rig.objects.find(made.made())->rings.poll(done, 8), 6u);
    for (unsigned i = 0; i < 6; ++i) EXPECT_TRUE(done[i].ok());
  }
  for (const qp_handle each : pair) {
    destroy_queue_pair destroy;
    destroy.start(rig.objects, each);
    ASSERT_TRUE(rig.await(destroy).ok());
  }
  destroy_resizable_completion_queue destroy;
  destroy.start(rig.objects, made.made());
  ASSERT_TRUE(rig.await(destroy).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

/// The program stores to its memory when a reset gives the memory back. The reset ends the region
/// next. No register is written between the two.
void memory_of_programs(const cache_watch& watch) {
  easy::memory memory;
  verbs_events events;
  events.context = &memory;
  events.request_ended = [](void* context, qp_handle, void*, const queues::work_completion&,
                            status) noexcept {
    const auto& at = *static_cast<const easy::memory*>(context);
    for (std::size_t i = 0; i < at.bytes; i += 4) dma::store_be32(at.host + i, 7);
  };
  easy_rig rig(easy_rig::exact_sizes(), incoherent(), events);
  const watched all(rig, watch);
  for (unsigned n = 0; n < 3; ++n) {
    rig.bring_up();
    memory = rig.get(rig.hca.allocate(8192, easy::rights::remote_write));
    const auto c = rig.get(rig.hca.open_rc());
    const queues::data_entry room = memory.part(0, 64);
    ASSERT_TRUE(c.post(queues::receive_request{.list = &room, .entries = 1}).ok());
    rig.hca.hardware().mark_as_lost();
    auto down = rig.hca.tear_down();
    static_cast<void>(rig.await(down));
    ASSERT_EQ(rig.hca.hardware().state(), device_state::down);
    ASSERT_EQ(dma::load_be32(memory.host), 7u) << "the request was not ended";
  }
}

/// Every row that an adapter may be asked.
void conformance_of_the_adapter(const cache_watch& watch) {
  conformance::conformance_rig rig(incoherent());
  const watched all(rig.host, watch);
  const conformance::told said = rig.run();
  EXPECT_TRUE(said.differing.empty()) << said.differing.front();
  EXPECT_GT(said.rows.size(), 300u);
}

}  // namespace

const std::vector<scenario>& scenarios() {
  static const std::vector<scenario> all = {
      {"traffic", traffic},
      {"requests of all lengths", requests_of_all_lengths},
      {"requests of any kind", requests_of_any_kind},
      {"receives", receives},
      {"shared receives", shared_receives},
      {"receives of extended connections", receives_of_extended_connections},
      {"completions with named queues", completions_with_named_queues},
      {"pushes by BlueFlame", pushes_by_blueflame},
      {"registrations", registrations},
      {"forgotten completions", forgotten_completions},
      {"resets of queue pairs", resets_of_queue_pairs},
      {"completions that are armed for", completions_that_are_armed_for},
      {"resized completion queues", resized_completion_queues},
      {"memory of programs", memory_of_programs},
      {"conformance", conformance_of_the_adapter},
  };
  return all;
}

}  // namespace freehca::testing
