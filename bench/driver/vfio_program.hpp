// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the measurements over VFIO share: the counted loops, and objects that operations make and
// destroy one after the other.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <freehca/blocking/words.hpp>

#include "counted.hpp"
#include "over_vfio.hpp"

namespace freehca::bench {

inline constexpr std::uint32_t qkey = 0x1234;

inline void need(status s, const char* what) {
  if (s.ok()) return;
  std::fprintf(stderr, "bench: %s: %s\n", what, blocking::words(s).c_str());
  std::exit(EXIT_FAILURE);
}

// ---- What is counted: as a program calls it

template <class Request>
[[gnu::noinline]] std::uint64_t count_posts(queues::sq& to, const Request* requests, unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i)
    if (!to.post_and_ring(requests[i]).ok()) fail("a post");
  return executed() - began;
}

template <class Queue>
[[gnu::noinline]] std::uint64_t count_receives(Queue& to, const queues::receive_request* requests,
                                               unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i)
    if (!to.post_and_ring(requests[i]).ok()) fail("a receive");
  return executed() - began;
}

// Each poll finds one.
[[gnu::noinline]] inline std::uint64_t count_polls(queues::cq& of, queues::work_completion* done,
                                                   unsigned n) {
  const std::uint64_t began = executed();
  for (unsigned i = 0; i < n; ++i) {
    if (of.poll(done, 1) != 1) fail("completions are missing");
    if (!done->ok()) fail("a request failed");
  }
  return executed() - began;
}

/// A protection domain and two completion queues, for queue pairs that are their own peers.
class vfio_program {
 public:
  explicit vfio_program(vfio_rig& on) : rig_(on) {}

 protected:
  verbs& objects() { return rig_.objects; }
  queues::cq& cq_of(cq_handle h) { return objects().find(h)->rings; }
  queues::qp_rings& pair(qp_handle h) { return objects().find(h)->rings; }

  template <class Operation, class... Arguments>
  void perform(Operation& operation, const Arguments&... arguments) {
    operation.restart();
    operation.start(objects(), arguments...);
    need(rig_.await(operation), "an operation");
  }
  template <device_kind Kind>
  handle<Kind> make(const typename Kind::attributes& a) {
    create_object<Kind> c;
    c.start(objects(), a);
    need(rig_.await(c), "a creation");
    return c.made();
  }
  template <class Kind>
  requires(!device_kind<Kind>) handle<Kind> make(const typename Kind::attributes& a = {}) {
    const auto made = objects().template create<Kind>(a);
    need(made.ok() ? status() : made.error(), Kind::facts.name);
    return made.value();
  }
  template <device_kind Kind>
  void destroy(handle<Kind> h) {
    destroy_object<Kind> d;
    d.start(objects(), h);
    need(rig_.await(d), "a destruction");
  }
  template <class Kind>
  requires(!device_kind<Kind>) void destroy(handle<Kind> h) {
    need(objects().destroy(h), Kind::facts.name);
  }

  queue_pair_attributes of_size(std::uint32_t requests) const {
    return {.pd = domain_,
            .send_cq = sent_,
            .receive_cq = received_,
            .sends = requests,
            .receives = requests};
  }

  qp_handle connected(qp_handle q, std::uint32_t peer) {
    connection_attributes a;
    a.remote_read = a.remote_write = a.remote_atomic = true;
    a.qkey = qkey;
    a.path_mtu = rig_.adapter.port(1).active_mtu;
    a.remote_qpn = peer;
    a.address = infiniband_path{.port = 1, .dlid = rig_.adapter.port(1).lid};
    for (const auto to :
         {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
      modify_queue_pair m;
      m.start(objects(), q, to, a);
      need(rig_.await(m), "a transition");
    }
    return q;
  }
  qp_handle connected(qp_handle q) { return connected(q, qpn_of(objects(), q)); }

  vfio_rig& rig_;
  pd_handle domain_;
  cq_handle sent_, received_;
  queues::work_completion done_[64];
};

/// Tells the rows of requests that vfio.cpp does not have.
void measure_requests(const vfio_program& in);
/// Tells the rows of calls that vfio.cpp does not have.
void measure_objects(const vfio_program& in, const idler& idle);

}  // namespace freehca::bench
