// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_driver_vfio ADDRESS: how many instructions our driver takes for what a program does
// with it, over VFIO: the peer of linux_ibverbs.cpp.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <freehca/description/address_tables.hpp>
#include <freehca/loopback_traffic/scattered_memory.hpp>

#include "counted.hpp"
#include "mapping.hpp"
#include "vfio_program.hpp"

namespace {

using namespace freehca;
using namespace freehca::bench;
using namespace freehca::queues;
using loopback_traffic::scattered_memory;

// ---- What is counted: as a program calls it

[[gnu::noinline]] std::uint64_t count_batches(sq& to, const rdma_write* requests, unsigned n,
                                              unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch) {
    if (to.post_many(requests + i, batch) != batch) fail("a post in a batch");
    to.ring();
  }
  return executed() - began;
}

using writes_of_stream = stream<rdma_write>;
[[gnu::noinline]] std::uint64_t count_streams(sq& to, const rdma_write& like,
                                              const writes_of_stream::place* places, unsigned n,
                                              unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch) {
    if (to.post_many(writes_of_stream(like, places + i), batch) != batch)
      fail("a post of a stream");
    to.ring();
  }
  return executed() - began;
}

// The last request of each batch alone is signaled.
[[gnu::noinline]] std::uint64_t count_quiet_batches(sq& to, const rdma_write* requests, unsigned n,
                                                    unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch)
    if (to.post_many(requests + i, batch - 1, request_flags::none) != batch - 1 ||
        !to.post_and_ring(requests[i + batch - 1]).ok())
      fail("a post in a batch");
  return executed() - began;
}
[[gnu::noinline]] std::uint64_t count_quiet_streams(sq& to, const rdma_write* requests,
                                                    const writes_of_stream::place* places,
                                                    unsigned n, unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch)
    if (to.post_many(writes_of_stream(requests[0], places + i), batch - 1, request_flags::none) !=
            batch - 1 ||
        !to.post_and_ring(requests[i + batch - 1]).ok())
      fail("a post of a stream");
  return executed() - began;
}

// Each poll finds a whole batch.
[[gnu::noinline]] std::uint64_t count_polls_of_many(cq& of, work_completion* done, unsigned n,
                                                    unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch) {
    if (of.poll(done, batch) != batch) fail("completions are missing");
    for (unsigned k = 0; k < batch; ++k)
      if (!done[k].ok()) fail("a request failed");
  }
  return executed() - began;
}

// Each look finds a whole batch.
[[gnu::noinline]] std::uint64_t count_looks(cq& of, unsigned n, unsigned batch) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; i += batch) {
    const unsigned found = of.look(batch, [](const completion_view& done) {
      if (!done.ok()) fail("a request failed");
    });
    if (found != batch) fail("completions are missing");
    of.release();
  }
  return executed() - began;
}

[[gnu::noinline]] std::uint64_t count_empty_polls(cq& of, work_completion* done, unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i)
    if (of.poll(done, 1) != 0) fail("a completion of nothing");
  return executed() - began;
}

template <class Work>
[[gnu::noinline]] std::uint64_t count(Work work) {
  const std::uint64_t began = executed();
  work();
  return executed() - began;
}

// ---- The measurement

class measurement : public vfio_program {
 public:
  measurement(vfio_rig& on, const idler& idle) : vfio_program(on), idle_(idle) {}

  void open() {
    // With somebody to tell of completions, for the rig has none.
    need(objects().close(), "the rig's objects");
    const std::size_t bytes = verbs::storage_bytes(rig_.budget, rig_.kinds);
    storage_ = new (std::align_val_t{16}) std::byte[bytes];
    verbs_events to;
    to.context = this;
    to.completion = [](void* self, cq_handle, void*) noexcept {
      ++static_cast<measurement*>(self)->told_;
    };
    need(objects().open(rig_.adapter, rig_.kinds, storage_, bytes, to), "objects");
    domain_ = make<protection_domain>();
    need(memory_.allocate(rig_.adapter.platform(), region_bytes, 1), "memory");
    region_ = make<memory_region>({.pd = domain_,
                                   .pages = memory_.pages(),
                                   .access = {.local_write = true, .remote_write = true}});
    key_ = key_of(objects(), region_);
    sent_ = make<completion_queue>({.entries = 2 * ring});
    received_ = make<completion_queue>({.entries = 2 * ring});
  }

  void data_path() {
    const qp_handle plain = connected(make<queue_pair>(of_size(ring)));
    sq& sends = pair(plain).send;
    fill();
    const request_cost single = for_each_request([&](unsigned n) {
      round_cost c;
      c.post = count_posts(sends, writes_.data(), n);
      let_device_work();
      c.poll = count_polls(cq_of(sent_), done_, n);
      return c;
    });
    tell("post", single.post);
    tell("poll", single.poll);
    for (const unsigned batch : {1u, 8u, 32u}) {
      const request_cost c = for_each_request([&](unsigned n) {
        round_cost each;
        each.post = count_batches(sends, writes_.data(), n, batch);
        let_device_work();
        each.poll = count_looks(cq_of(sent_), n, batch);
        return each;
      });
      const std::string of = std::to_string(batch);
      tell(("post, batches of " + of).c_str(), c.post);
      tell(("poll, batches of " + of).c_str(), c.poll);
    }
    constexpr unsigned many = 32;
    const request_cost copied = for_each_request([&](unsigned n) {
      round_cost each;
      each.post = count_batches(sends, writes_.data(), n, many);
      let_device_work();
      each.poll = count_polls_of_many(cq_of(sent_), done_, n, many);
      return each;
    });
    tell("poll into an array, batches of 32", copied.poll);
    const request_cost streams = for_each_request([&](unsigned n) {
      round_cost each;
      each.post = count_streams(sends, writes_[0], places_.data(), n, many);
      let_device_work();
      each.poll = count_looks(cq_of(sent_), n, many);
      return each;
    });
    tell("post, stream in batches of 32", streams.post);
    tell("poll, stream in batches of 32", streams.poll);
    const request_cost quiet = for_each_request([&](unsigned n) {
      round_cost each;
      each.post = count_quiet_batches(sends, writes_.data(), n, many);
      let_device_work();
      each.poll = count_polls(cq_of(sent_), done_, n / many);
      return each;
    });
    tell("post, one signaled in 32", quiet.post);
    tell("poll, one signaled in 32", quiet.poll);
    const request_cost quiet_streams = for_each_request([&](unsigned n) {
      round_cost each;
      each.post = count_quiet_streams(sends, writes_.data(), places_.data(), n, many);
      let_device_work();
      each.poll = count_polls(cq_of(sent_), done_, n / many);
      return each;
    });
    tell("post, stream with one signaled in 32", quiet_streams.post);
    tell("poll, stream with one signaled in 32", quiet_streams.poll);
    tell("poll of an empty queue",
         for_each_request([&](unsigned n) {
           return round_cost{count_empty_polls(cq_of(sent_), done_, n), 0};
         }).post);
    auto inside = of_size(ring);
    inside.inline_bytes = message_bytes;
    const qp_handle in_place = connected(make<queue_pair>(inside));
    tell("post, 64 bytes inline", for_each_request([&](unsigned n) {
                                    round_cost c;
                                    c.post = count_posts(pair(in_place).send, inlines_.data(), n);
                                    let_device_work();
                                    count_polls(cq_of(sent_), done_, n);
                                    return c;
                                  }).post);
    destroy(in_place);

    const request_cost own = receives(pair(plain).receive, sends);
    tell("post of a receive", own.post);
    tell("poll of a receive", own.poll);
    destroy(plain);
    shared_receives();
  }

  /// The instructions of a completion event outside of the kernel and of the host's sleep. The
  /// interrupt comes while nothing is counted, and the driver is notified of it in a counted call.
  double own_part_of_event(sq& sends) {
    constexpr unsigned vector_of_completions = 1;
    std::vector<double> each;
    // The first looks also find events of the rows before.
    constexpr unsigned first_looks = 8;
    for (unsigned i = 0; i < first_looks + repetitions; ++i) {
      const unsigned before = told_;
      const std::uint64_t armed = count([&] { cq_of(sent_).arm(); });
      count_posts(sends, writes_.data(), 1);
      let_device_work();
      const std::uint64_t taken = count([&] {
        rig_.adapter.on_interrupt(vector_of_completions);
        objects().poll();
      });
      if (told_ != before + 1) fail("a completion event");
      count_polls(cq_of(sent_), done_, 1);
      if (i >= first_looks) each.push_back(static_cast<double>(armed + taken));
    }
    return median(each);
  }

  void calls() {
    const qp_handle q = connected(make<queue_pair>(of_size(ring)));
    tell("one write with its completion event", for_each_call(
                                                    idle_, 16,
                                                    [&](unsigned) {
                                                      const unsigned before = told_;
                                                      cq_of(sent_).arm();
                                                      count_posts(pair(q).send, writes_.data(), 1);
                                                      while (told_ == before) rig_.turn();
                                                      count_polls(cq_of(sent_), done_, 1);
                                                    },
                                                    [](unsigned) {})
                                                    .post);
    tell("the driver's part of a completion event", own_part_of_event(pair(q).send));
    destroy(q);
    std::array<qp_handle, 64> queues;
    const request_cost pairs = for_each_call(
        idle_, 8, [&](unsigned i) { queues[i] = make<queue_pair>(of_size(16)); },
        [&](unsigned i) { destroy(queues[i]); });
    tell("create a queue pair", pairs.post);
    tell("destroy a queue pair", pairs.poll);
    registrations();
  }

  void close() {
    destroy(received_);
    destroy(sent_);
    destroy(region_);
    destroy(domain_);
    need(objects().close(), "objects");
    ::operator delete[](storage_, std::align_val_t{16});
  }

 private:
  void fill() {
    static std::byte inside[message_bytes];
    for (unsigned i = 0; i < ring; ++i) {
      const data_entry from = {i * message_bytes, message_bytes, key_};
      const remote_memory into = {region_bytes / 2 + i * 128, key_};
      into_[i] = {into.address, 128, key_};
      places_[i] = {i, i * message_bytes, i * 128};
      writes_[i] = {.wr_id = i, .remote = into, .data = from};
      inlines_[i] = {.wr_id = i, .remote = into, .data = {inside, message_bytes}};
      messages_[i] = {.wr_id = i, .data = from};
      receives_[i] = {.wr_id = i, .list = &into_[i], .entries = 1};
    }
    unknown_memory(this);
  }

  template <class Queue>
  request_cost receives(Queue& queue, sq& sends) {
    return for_each_request([&](unsigned n) {
      round_cost c;
      c.post = count_receives(queue, receives_.data(), n);
      count_posts(sends, messages_.data(), n);
      let_device_work();
      count_polls(cq_of(sent_), done_, n);
      c.poll = count_polls(cq_of(received_), done_, n);
      return c;
    });
  }

  void shared_receives() {
    const srq_handle shared = make<shared_receive_queue>({.pd = domain_, .receives = ring});
    auto a = of_size(ring);
    a.receives = 0;
    a.shared = shared;
    const qp_handle q = connected(make<queue_pair>(a));
    const request_cost c = receives(objects().find(shared)->rings, pair(q).send);
    tell("post of a shared receive", c.post);
    tell("poll of a shared receive", c.poll);
    destroy(q);
    destroy(shared);
  }

  /// Tells what `make` and `end` take, and what they take without the kernel's mapping.
  template <class Make, class End>
  void tell_registration(const std::string& what, Make make, End end) {
    const auto tell_both = [&what](const char* part, const request_cost& c) {
      tell(("register " + what + part).c_str(), c.post);
      tell(("deregister " + what + part).c_str(), c.poll);
    };
    tell_both("", for_each_call(idle_, 4, make, end));
    tell_both(", the rest", for_each_call(idle_, 4, make, end, [this] {
                return idle_.others() - executed_in_mapping();
              }));
  }

  // As with ibv_reg_mr: memory of the program that the device did not reach before, mapped by the
  // program and mapped by the region; and one more region over memory that has one, which VFIO need
  // not map again.
  void registrations() {
    alignas(4096) static std::byte memory[region_bytes];
    unknown_memory(memory);
    for (std::size_t i = 0; i < sizeof memory; i += 4096) memory[i] = std::byte{1};
    const platform& host = rig_.adapter.platform();
    std::array<dma_region, 64> mapped;
    std::array<mr_handle, 64> regions;
    const auto region_over = [&](const dma_region& block) {
      return make<memory_region>({.pd = domain_,
                                  .pages = page_list(block, 12),
                                  .virtual_address = block.device_address,
                                  .access = {.local_write = true, .remote_write = true}});
    };
    const auto map = [&](unsigned i) {
      mapped[i] = {memory, 0, sizeof memory};
      need(host.operations->map_memory(host.context, memory, sizeof memory,
                                       &mapped[i].device_address),
           "map_memory");
    };
    const auto unmap = [&](unsigned i) {
      need(host.operations->unmap_memory(host.context, mapped[i].device_address, sizeof memory),
           "unmap_memory");
    };
    tell_registration(
        "1 MiB",
        [&](unsigned i) {
          map(i);
          regions[i] = region_over(mapped[i]);
        },
        [&](unsigned i) {
          destroy(regions[i]);
          unmap(i);
        });
    tell_registration(
        "1 MiB of the program",
        [&](unsigned i) {
          regions[i] = make<memory_region>({.pd = domain_,
                                            .access = {.local_write = true, .remote_write = true},
                                            .memory = {memory, sizeof memory}});
        },
        [&](unsigned i) { destroy(regions[i]); });
    map(0);
    const mr_handle stays = region_over(mapped[0]);
    const request_cost second = for_each_call(
        idle_, 4, [&](unsigned i) { regions[i] = region_over(mapped[0]); },
        [&](unsigned i) { destroy(regions[i]); });
    destroy(stays);
    unmap(0);
    tell("register 1 MiB a second time", second.post);
    tell("deregister 1 MiB that stays registered", second.poll);
  }

  const idler& idle_;
  std::byte* storage_ = nullptr;
  unsigned told_ = 0;
  scattered_memory memory_;
  mr_handle region_;
  std::uint32_t key_ = 0;
  std::array<data_entry, ring> into_;
  std::array<rdma_write, ring> writes_;
  std::array<writes_of_stream::place, ring> places_;
  std::array<rdma_write_inline, ring> inlines_;
  std::array<send, ring> messages_;
  std::array<receive_request, ring> receives_;
};

/// Room for the objects of a round.
verbs_budget kinds() {
  constexpr unsigned several = 24;
  return every_kind()
      .with<memory_window>(ring)
      .with<address_handle>(several)
      .with<shared_receive_queue>(several)
      .with<queue_pair>(several)
      .with<xrc_domain>(several)
      .with<xrc_receive_queue>(several)
      .with<xrc_queue_pair>(several)
      .with<group_membership>(several);
}

int fail_with(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
    return 2;
  }
  tell_driver("freehca");
  need_counted_clock();
  const idler idle;
  idle.need_idleness();
  count_mapping(idle);
  freehca::budget size;
  size.queue_bytes += std::size_t{4} << 20;

  idle.go_on();
  const std::uint64_t began = idle.others();
  vfio_rig s(argv[1], size, kinds(), 66 * region_bytes);
  if (!s.trouble().empty()) return fail_with(s.trouble());
  need(s.bring_up(), "bring-up");
  const std::uint64_t alone = idle.others() - began;
  if (!s.adapter.port(1).active() || !s.adapter.port(2).active())
    return fail_with("the ports are not active");
  tell("bring-up without tables", static_cast<double>(alone));
  tell("bring-up without tables, commands", static_cast<double>(s.adapter.info().commands_issued));
  // As mlx4_ib does at once.
  const std::uint64_t before = idle.others();
  std::vector<description::port_tables> tables;
  need(description::read_address_tables(
           s.adapter, [&s](operation& op) { return s.await(op); }, tables),
       "the ports' tables");
  tell("bring-up", static_cast<double>(alone + idle.others() - before));
  idle.rest();
  const device_info info = s.adapter.info();
  tell("bring-up, commands", static_cast<double>(info.commands_issued));
  std::uint64_t context = 0;
  for (const std::uint64_t bytes : info.lent_context) context += bytes;
  tell("bring-up, bytes of context memory lent", static_cast<double>(context));

  auto m = std::make_unique<measurement>(s, idle);
  m->open();
  m->data_path();
  for (unsigned i = 0; i < call_rounds; ++i) m->calls();
  measure_requests(*m);
  for (unsigned i = 0; i < call_rounds; ++i) measure_objects(*m, idle);
  m->close();
  need(s.tear_down(), "teardown");
  return EXIT_SUCCESS;
}
