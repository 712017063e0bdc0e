// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <freehca/loopback_traffic/scattered_memory.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/xrc_requests.hpp>

#include "vfio_program.hpp"

namespace freehca::bench {
namespace {

using namespace freehca::queues;

constexpr unsigned atomic_bytes = 8, pieces = 4, many = 32;

// Each poll finds one receive.
template <class Queue, class Look>
[[gnu::noinline]] std::uint64_t count_received(Queue& of, work_completion* done, unsigned n,
                                               Look look) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i) {
    if constexpr (requires { of.take(done, 1); }) {
      if (of.take(done, 1) != 1) fail("completions are missing");
    } else {
      if (of.poll(done, 1) != 1) fail("completions are missing");
    }
    if (!look(*done)) fail("a receive failed");
  }
  return executed() - began;
}

// Each look finds a whole batch.
[[gnu::noinline]] std::uint64_t count_times(cq& of, unsigned n, unsigned batch) {
  const std::uint64_t began = executed();
  std::uint64_t last = 0;
  for (unsigned i = 0; i < n; i += batch) {
    const unsigned found = of.look(batch, [&last](const completion_view& done) {
      if (!done.ok()) fail("a request failed");
      last = timestamp_of(done);
    });
    if (found != batch) fail("completions are missing");
    of.release();
    if (last == 0) fail("a completion has no time");
  }
  return executed() - began;
}

// A post takes one piece of inline data. The program copies the pieces to one place.
[[gnu::noinline]] std::uint64_t count_pieces(sq& to, const inline_data* from, remote_memory into,
                                             unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i) {
    std::byte whole[message_bytes];
    std::uint32_t length = 0;
    for (unsigned k = 0; k < pieces; ++k) {
      std::memcpy(whole + length, from[k].from, from[k].length);
      length += from[k].length;
    }
    if (!to.post_and_ring(rdma_write_inline{.wr_id = i, .remote = into, .data = {whole, length}})
             .ok())
      fail("a post");
  }
  return executed() - began;
}

[[gnu::noinline]] std::uint64_t count_binds(sq& to, memory_window& window,
                                            const window_binding& binding, unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i) {
    bind_window r{.wr_id = i, .memory = binding};
    r.memory.key = window.next_key();
    if (!to.post_and_ring(r).ok()) fail("a binding");
  }
  return executed() - began;
}

void tell_rows(const char* post, const char* poll, const request_cost& c) {
  tell(post, c.post);
  tell(poll, c.poll);
}

class request_rows : public vfio_program {
 public:
  explicit request_rows(const vfio_program& in) : vfio_program(in) {
    need(memory_.allocate(rig_.adapter.platform(), region_bytes, 1), "memory");
    region_ = make<memory_region>({.pd = domain_,
                                   .pages = memory_.pages(),
                                   .access = {.local_write = true,
                                              .remote_read = true,
                                              .remote_write = true,
                                              .remote_atomic = true,
                                              .bind_windows = true}});
    key_ = key_of(objects(), region_);
    for (unsigned i = 0; i < ring; ++i) {
      into_[i] = {there(i).address, 128, key_};
      receives_[i] = {.wr_id = i, .list = &into_[i], .entries = 1};
    }
  }

  void measure() {
    auto a = of_size(ring);
    a.inline_bytes = message_bytes;
    const qp_handle q = connected(make<queue_pair>(a));
    reads_and_atomics(pair(q).send);
    gathered(pair(q).send);
    immediates(pair(q));
    windows(pair(q));
    destroy(q);
    datagrams();
    extended_connection();
    timestamps();
    destroy(region_);
  }

 private:
  data_entry here(unsigned i, std::uint32_t bytes = message_bytes) const {
    return {i * message_bytes, bytes, key_};
  }
  remote_memory there(unsigned i) const { return {region_bytes / 2 + i * 128, key_}; }

  template <class Make>
  auto requests(Make make) {
    std::vector<decltype(make(0u))> all;
    for (unsigned i = 0; i < ring; ++i) all.push_back(make(i));
    unknown_memory(all.data());
    return all;
  }

  // Posts n requests and polls their completions from `sent_`.
  template <class Request>
  round_cost round(sq& to, const std::vector<Request>& r, unsigned n) {
    round_cost c;
    c.post = count_posts(to, r.data(), n);
    let_device_work();
    c.poll = count_polls(cq_of(sent_), done_, n);
    return c;
  }

  void reads_and_atomics(sq& to) {
    const auto tell_of = [&](const char* post, const char* poll, const auto& r) {
      tell_rows(post, poll, for_each_request([&](unsigned n) { return round(to, r, n); }));
    };
    tell_of("post of an RDMA read", "poll of an RDMA read", requests([this](unsigned i) {
              return rdma_read{.wr_id = i, .remote = there(i), .data = here(i)};
            }));
    tell_of("post of a compare-and-swap", "poll of a compare-and-swap",
            requests([this](unsigned i) {
              return compare_and_swap{.wr_id = i,
                                      .remote = there(i),
                                      .operand = i,
                                      .compare = 1,
                                      .data = here(i, atomic_bytes)};
            }));
    tell_of("post of a fetch-and-add", "poll of a fetch-and-add", requests([this](unsigned i) {
              return fetch_and_add{
                  .wr_id = i, .remote = there(i), .operand = 1, .data = here(i, atomic_bytes)};
            }));
  }

  void gathered(sq& to) {
    static const std::byte bytes[message_bytes]{};
    std::array<inline_data, pieces> from;
    for (unsigned k = 0; k < pieces; ++k)
      from[k] = {bytes + k * (message_bytes / pieces), message_bytes / pieces};
    unknown_memory(from.data());
    tell("post, 64 bytes inline in 4 pieces", for_each_request([&](unsigned n) {
                                                round_cost c;
                                                c.post = count_pieces(to, from.data(), there(0), n);
                                                let_device_work();
                                                count_polls(cq_of(sent_), done_, n);
                                                return c;
                                              }).post);
  }

  // `prepare` comes before each round. post: of the requests; poll: of their receives.
  template <class Request, class Queue, class Completions, class Look, class Prepare>
  request_cost received(sq& to, Queue& by, Completions& received, const std::vector<Request>& r,
                        Look look, Prepare prepare) {
    return for_each_request([&](unsigned n) {
      prepare(n);
      count_receives(by, receives_.data(), n);
      round_cost c = round(to, r, n);
      c.poll = count_received(received, done_, n, look);
      return c;
    });
  }

  void immediates(qp_rings& q) {
    const auto sends = requests([this](unsigned i) {
      return send_with_immediate{.wr_id = i, .data = here(i), .immediate = 77};
    });
    tell_rows("post of a send with immediate data", "poll of a receive with immediate data",
              received(
                  q.send, q.receive, cq_of(received_), sends,
                  [](const work_completion& w) { return w.has_immediate() && w.immediate() == 77; },
                  [](unsigned) {}));
  }

  void windows(qp_rings& q) {
    const window_binding whole{.region = key_,
                               .address = 0,
                               .length = region_bytes,
                               .rights = window_rights::remote_write};
    const mw_handle one = make<memory_window>({.pd = domain_, .type = window_type::one});
    tell_rows("post of a bind of a type 1 window", "poll of a bind of a type 1 window",
              for_each_request([&](unsigned n) {
                round_cost c;
                c.post = count_binds(q.send, *objects().find(one), whole, n);
                let_device_work();
                c.poll = count_polls(cq_of(sent_), done_, n);
                return c;
              }));
    destroy(one);

    std::vector<mw_handle> two;
    for (unsigned i = 0; i < ring; ++i)
      two.push_back(make<memory_window>({.pd = domain_, .type = window_type::two}));
    auto binds = requests([&](unsigned i) { return bind_window{.wr_id = i, .memory = whole}; });
    auto ends = requests([](unsigned i) { return local_invalidate{.wr_id = i}; });
    auto sends =
        requests([this](unsigned i) { return send_with_invalidate{.wr_id = i, .data = here(i)}; });
    const auto bind = [&](unsigned n) {
      for (unsigned i = 0; i < n; ++i) {
        binds[i].memory.type = window_type::two;
        ends[i].memory.key = sends[i].invalidated = binds[i].memory.key =
            objects().find(two[i])->next_key();
      }
      unknown_memory(binds.data());
      return round(q.send, binds, n);
    };
    tell_rows("post of a bind of a type 2 window", "poll of a bind of a type 2 window",
              for_each_request([&](unsigned n) {
                const round_cost c = bind(n);
                round(q.send, ends, n);
                return c;
              }));
    tell_rows("post of a local invalidate", "poll of a local invalidate",
              for_each_request([&](unsigned n) {
                bind(n);
                return round(q.send, ends, n);
              }));
    tell_rows("post of a send with invalidate", "poll of a receive with invalidate",
              received(
                  q.send, q.receive, cq_of(received_), sends,
                  [](const work_completion& w) { return w.has_invalidated(); }, bind));
    for (const mw_handle h : two) destroy(h);
  }

  void datagrams() {
    auto a = of_size(ring);
    a.service = layouts::qp_service::ud;
    const qp_handle q = connected(make<queue_pair>(a));
    address_handle_attributes way{.pd = domain_};
    way.address = infiniband_path{.dlid = rig_.adapter.port(1).lid};
    const ah_handle to = make<address_handle>(way);
    const std::uint32_t qpn = qpn_of(objects(), q);
    const auto sends = requests([&](unsigned i) {
      return send_datagram{
          .wr_id = i, .to = {&objects().find(to)->address, qpn, qkey}, .data = here(i)};
    });
    const request_cost sent = for_each_request([&](unsigned n) {
      count_receives(pair(q).receive, receives_.data(), n);
      const round_cost c = round(pair(q).send, sends, n);
      count_polls(cq_of(received_), done_, n);
      return c;
    });
    tell_rows("post of a datagram", "poll of a datagram's send", sent);
    tell("poll of a datagram's receive", received(
                                             pair(q).send, pair(q).receive, cq_of(received_), sends,
                                             [qpn](const work_completion& w) {
                                               return w.ok() && w.source_qpn() == qpn &&
                                                      !w.has_grh();
                                             },
                                             [](unsigned) {})
                                             .poll);
    destroy(q);
    destroy(to);
  }

  void extended_connection() {
    const xrcd_handle shared = make<xrc_domain>();
    const xrc_cq_handle done = make<xrc_completion_queue>({.entries = 2 * ring});
    const xrc_srq_handle queue =
        make<xrc_receive_queue>({.pd = domain_, .domain = shared, .cq = done, .receives = ring});
    const xrc_qp_handle initiator =
        make<xrc_queue_pair>({.pd = domain_, .cq = sent_, .sends = ring});
    const xrc_qp_handle target =
        make<xrc_queue_pair>({.domain = shared, .pd = domain_, .cq = sent_});
    connected(target, qpn_of(objects(), initiator));
    connected(initiator, qpn_of(objects(), target));
    const std::uint32_t number = srqn_of(objects(), queue);
    const auto sends = requests([&](unsigned i) {
      return xrc<send>{{.wr_id = i, .data = here(i)}, number};
    });
    tell_rows("post of an XRC send", "poll of an XRC receive",
              received(
                  pair(initiator).send, objects().find(queue)->rings, *objects().find(done), sends,
                  [](const work_completion& w) { return w.ok(); }, [](unsigned) {}));
    destroy(initiator);
    destroy(target);
    destroy(queue);
    destroy(done);
    destroy(shared);
  }

  void timestamps() {
    const extended_cq_handle done = make<extended_completion_queue>({{.entries = 2 * ring}, true});
    auto a = of_size(ring);
    a.send_cq = done;
    const qp_handle q = connected(make<queue_pair>(a));
    const auto writes = requests(
        [this](unsigned i) { return rdma_write{.wr_id = i, .remote = there(i), .data = here(i)}; });
    for (const unsigned batch : {1u, many}) {
      const std::string row = "poll with a timestamp, batches of " + std::to_string(batch);
      tell(row.c_str(), for_each_request([&](unsigned n) {
                          round_cost c;
                          count_posts(pair(q).send, writes.data(), n);
                          let_device_work();
                          c.poll = count_times(cq_of(done), n, batch);
                          return c;
                        }).poll);
    }
    destroy(q);
    destroy(done);
  }

  loopback_traffic::scattered_memory memory_;
  mr_handle region_;
  std::uint32_t key_ = 0;
  std::array<data_entry, ring> into_;
  std::array<receive_request, ring> receives_;
};

}  // namespace

void measure_requests(const vfio_program& in) {
  request_rows(in).measure();
}

}  // namespace freehca::bench
