// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Posts a thousand RDMA writes whose completions are only counted. easy::adapter has no operation
// for a counting completion queue, so the program creates its objects through objects().
// Usage: counting 0000:03:00.0
#include <cstdio>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/every_kind.hpp>

using namespace freehca;
using layouts::qp_state;

namespace {

constexpr std::uint32_t at_a_time = 64;
constexpr std::uint64_t writes = 1000;

struct side {
  cq_handle completions;
  qp_handle pair;
};

/// Starts a create operation, waits for it, and returns the created object.
template <class Create, class Attributes>
auto make(blocking::session& session, const Attributes& attributes) {
  Create create;
  create.start(session.adapter().objects(), attributes);
  using made = result<decltype(create.made())>;
  const status outcome = session.wait(create);
  return outcome.ok() ? made(create.made()) : made(outcome);
}

status connect(blocking::session& session, qp_handle pair, qp_handle peer) {
  const port_attributes& port = session.adapter().hardware().port(1);
  connection_attributes a;
  a.remote_write = true;
  a.path_mtu = port.active_mtu;
  a.remote_qpn = qpn_of(session.adapter().objects(), peer);
  a.address = infiniband_path{.dlid = port.lid};
  for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
    modify_queue_pair modify;
    modify.start(session.adapter().objects(), pair, to, a);
    FREEHCA_TRY(session.wait(modify));
  }
  return {};
}

status count(blocking::session& session, std::uint64_t& counted) {
  easy::adapter& hca = session.adapter();
  FREEHCA_TRY(session.wait(hca.bring_up()));
  FREEHCA_GET(const easy::memory from, session.wait(hca.allocate(4096)));
  FREEHCA_GET(const easy::memory to, session.wait(hca.allocate(4096, easy::rights::remote_write)));
  using attributes = completion_queue_attributes;
  FREEHCA_GET(const auto counting, (make<create_counting_completion_queue>(
                                       session, attributes{.entries = 2 * at_a_time})));
  side sides[2];
  for (side& s : sides) {
    s.completions = counting;
    FREEHCA_GET(s.pair,
                (make<create_queue_pair>(session, queue_pair_attributes{.pd = hca.domain(),
                                                                        .send_cq = s.completions,
                                                                        .receive_cq = s.completions,
                                                                        .sends = at_a_time})));
  }
  FREEHCA_TRY(connect(session, sides[0].pair, sides[1].pair));
  FREEHCA_TRY(connect(session, sides[1].pair, sides[0].pair));

  const queues::counting& counts = hca.objects().find(counting)->counts;
  queues::sq& send = hca.objects().find(sides[0].pair)->rings.send;
  for (std::uint64_t posted = 0; counts.succeeded < writes && counts.failed == 0;) {
    for (; posted < writes && posted - counts.succeeded < at_a_time; ++posted)
      FREEHCA_TRY(send.post_and_ring(
          queues::rdma_write{.wr_id = posted, .remote = to.remote(), .data = from.part(0, 256)}));
    session.turn();  // reads and counts the completions
  }
  counted = counts.succeeded;
  if (counts.failed != 0) return transport_error::bad_reply;

  for (const side& s : sides) {
    destroy_queue_pair destroy;
    destroy.start(hca.objects(), s.pair);
    FREEHCA_TRY(session.wait(destroy));
  }
  destroy_counting_completion_queue destroy;
  destroy.start(hca.objects(), counting);
  FREEHCA_TRY(session.wait(destroy));
  return session.wait(hca.tear_down());
}

}  // namespace

int main(int argc, char** argv) {
  blocking::session session(argc > 1 ? argv[1] : "", {.budget = {}, .objects = every_kind()});
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  std::uint64_t counted = 0;
  const status outcome = count(session, counted);
  std::printf("%llu writes: %s\n", static_cast<unsigned long long>(counted),
              blocking::words(outcome).c_str());
  return outcome.ok() ? 0 : 1;
}
