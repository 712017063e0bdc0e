// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <vector>

#include <freehca/work_requests/send_request.hpp>

#include "verbs_rig.hpp"

namespace freehca::testing {

/// Posts a request of either form, and tells the device of it.
template <class Request>
status post_and_ring(queues::sq& to, const Request& request) {
  return to.post_and_ring(request);
}
inline status post_and_ring(queues::sq& to, const work_requests::send_request& request) {
  return work_requests::post_and_ring(to, request);
}

/// Two connected queue pairs on port 1, each with a completion queue, addressed by the port's own
/// LID. Rig: verbs_rig, or another that has `adapter`, `objects`, run() and await().
template <class Rig>
class rc_pair_of {
 public:
  explicit rc_pair_of(Rig& rig,
                      const queue_pair_attributes& shape = {.sends = 16,
                                                            .receives = 16,
                                                            .gather = 4,
                                                            .scatter = 4,
                                                            .inline_bytes = 400},
                      unsigned completion_context = 0)
      : rig_(rig) {
    const auto made = rig.objects.template create<protection_domain>();
    EXPECT_TRUE(made.ok());
    domain = made.value();
    for (unsigned i = 0; i < 2; ++i) {
      create_completion_queue cq;
      cq.start(rig.objects, {.entries = 63, .completion_context = completion_context});
      const status s = rig.await(cq);
      EXPECT_TRUE(s.ok()) << words(s);
      completion[i] = cq.made();
      queue_pair_attributes a = shape;
      a.pd = domain;
      a.send_cq = a.receive_cq = completion[i];
      create_queue_pair qp;
      qp.start(rig.objects, a);
      const status t = rig.await(qp);
      EXPECT_TRUE(t.ok()) << words(t);
      queue[i] = qp.made();
    }
  }
  ~rc_pair_of() { destroy(); }
  rc_pair_of(const rc_pair_of&) = delete;
  rc_pair_of& operator=(const rc_pair_of&) = delete;

  /// The device was reset: there is nothing to destroy.
  void abandon() {
    for (qp_handle& q : queue) q = {};
    for (cq_handle& c : completion) c = {};
    domain = {};
  }

  void destroy() {
    for (unsigned i = 0; i < 2; ++i) {
      if (queue[i]) {
        destroy_queue_pair qp;
        qp.start(rig_.objects, queue[i]);
        EXPECT_TRUE(rig_.await(qp).ok());
        queue[i] = {};
      }
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (completion[i]) {
        destroy_completion_queue cq;
        cq.start(rig_.objects, completion[i]);
        EXPECT_TRUE(rig_.await(cq).ok());
        completion[i] = {};
      }
    }
    if (domain) {
      EXPECT_TRUE(rig_.objects.destroy(domain).ok());
      domain = {};
    }
  }

  connection_attributes attributes(unsigned i) const {
    connection_attributes a;
    a.remote_read = a.remote_write = a.remote_atomic = true;
    a.path_mtu = rig_.adapter.port(1).active_mtu;
    a.min_rnr_timer = 12;
    a.remote_qpn = qpn_of(rig_.objects, queue[1 - i]);
    a.receive_psn = 0x100 + i;
    a.send_psn = 0x101 - i;
    a.reads_as_responder = a.reads_as_requester = 4;
    a.address = infiniband_path{.dlid = rig_.adapter.port(1).lid};
    a.qkey = qkey;
    return a;
  }
  status move(unsigned i, layouts::qp_state to) { return move(i, to, attributes(i)); }
  status move(unsigned i, layouts::qp_state to, const connection_attributes& a) {
    modify_queue_pair m;
    m.start(rig_.objects, queue[i], to, a);
    return rig_.await(m);
  }
  void connect() {
    for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts})
      for (unsigned i = 0; i < 2; ++i) {
        const status s = move(i, to);
        ASSERT_TRUE(s.ok()) << "to state " << static_cast<unsigned>(to) << ": " << words(s);
      }
  }

  verbs& objects() { return rig_.objects; }
  queues::sq& send(unsigned i) { return rig_.objects.find(queue[i])->rings.send; }
  queues::rq& receive(unsigned i) { return rig_.objects.find(queue[i])->rings.receive; }
  queues::cq& cq(unsigned i) { return rig_.objects.find(completion[i])->rings; }

  /// The next completion of side i.
  queues::work_completion next(unsigned i) {
    queues::work_completion w;
    w.status = queues::completion_status::unknown_syndrome;
    bool there = false;
    EXPECT_TRUE(rig_.run([&] { return there || (there = cq(i).poll(&w, 1) == 1); }, 60'000'000'000))
        << "side " << i;
    return w;
  }

  static constexpr std::uint32_t qkey = 0x1234567;  // of datagrams

  pd_handle domain;
  cq_handle completion[2];
  qp_handle queue[2];

 private:
  Rig& rig_;
};

using rc_pair = rc_pair_of<verbs_rig>;

}  // namespace freehca::testing
