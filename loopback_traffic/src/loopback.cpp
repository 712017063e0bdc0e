// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "loopback.hpp"

#include <freehca/layouts/ib_types.hpp>

namespace freehca::loopback_traffic {
namespace {

constexpr std::uint64_t completion_limit = clock::seconds(10);
constexpr unsigned looks_before_doubt = 2000;
constexpr std::uint32_t datagram_key = 0x22222222;

}  // namespace

unsigned loopback::mtu() const {
  return static_cast<unsigned>(layouts::mtu_bytes(hca().port(how_.port).active_mtu));
}

status loopback::open(std::size_t bytes, unsigned requests) {
  const auto made = objects().create<protection_domain>();
  if (!made.ok()) return made.error();
  domain_ = made.value();
  FREEHCA_TRY(open_shared(requests));
  for (unsigned i = 0; i < sides; ++i) FREEHCA_TRY(open_side(i, bytes, requests));
  for (unsigned i = 0; i < sides; ++i) FREEHCA_TRY(connect(i));
  return {};
}

status loopback::open_shared(unsigned requests) {
  if (how_.shared_receives) {
    create_shared_receive_queue receives;
    receives.start(objects(), {.pd = domain_, .receives = requests, .scatter = 2});
    FREEHCA_TRY(session_.wait(receives));
    shared_ = receives.made();
  }
  if (how_.counted) {
    create_counting_completion_queue completions;
    completions.start(objects(), {.entries = requests});
    FREEHCA_TRY(session_.wait(completions));
    counted_ = completions.made();
  }
  if (!datagrams()) return {};
  const auto peer = objects().create<address_handle>(
      {.pd = domain_,
       .address = infiniband_path{.port = how_.port, .dlid = hca().port(how_.port).lid}});
  if (!peer.ok()) return peer.error();
  peer_ = peer.value();
  return {};
}

status loopback::open_side(unsigned i, std::size_t bytes, unsigned requests) {
  endpoint& s = sides_[i];
  const auto memory = memory_.allocate(session_.host().platform(), bytes);
  if (!memory.ok()) return memory.error();
  s.memory = memory.value();
  create_memory_region region;
  region.start(objects(),
               {.pd = domain_,
                .pages = s.memory->pages(),
                .virtual_address = 0,
                .access = {.local_write = true, .remote_read = true, .remote_write = true}});
  FREEHCA_TRY(session_.wait(region));
  s.region = region.made();
  s.key = key_of(objects(), s.region);
  create_completion_queue completions;
  completions.start(objects(), {.entries = 2 * requests});
  FREEHCA_TRY(session_.wait(completions));
  s.completions = completions.made();
  create_queue_pair queue;
  queue.start(objects(), {.pd = domain_,
                          .send_cq = i == 0 && counted_ ? cq_handle(counted_) : s.completions,
                          .receive_cq = s.completions,
                          .service = how_.service,
                          .sends = requests,
                          .receives = shared_ ? 0 : requests,
                          .shared = shared_,
                          .scatter = shared_ ? 1u : 2u});
  FREEHCA_TRY(session_.wait(queue));
  s.queue = queue.made();
  return {};
}

status loopback::connect(unsigned i) {
  const port_attributes& port = hca().port(how_.port);
  connection_attributes a;
  a.remote_read = a.remote_write = true;
  a.qkey = datagram_key;
  a.path_mtu = port.active_mtu;
  a.min_rnr_timer = 12;
  a.remote_qpn = qpn_of(objects(), sides_[1 - i].queue);
  a.receive_psn = 0x100 + i;
  a.send_psn = 0x101 - i;
  a.reads_as_responder = a.reads_as_requester = 4;
  a.address = infiniband_path{.port = how_.port, .dlid = port.lid};
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    modify_queue_pair m;
    m.start(objects(), sides_[i].queue, to, a);
    FREEHCA_TRY(session_.wait(m));
  }
  return {};
}

template <class K>
status loopback::destroy(handle<K>& h) {
  if (!h) return {};
  if constexpr (device_kind<K>) {
    destroy_object<K> d;
    d.start(objects(), h);
    FREEHCA_TRY(session_.finish(d));
  } else {
    FREEHCA_TRY(objects().destroy(h));
  }
  h = {};
  return {};
}

status loopback::close() {
  if (!hca().up()) return {};
  for (endpoint& s : sides_) FREEHCA_TRY(destroy(s.queue));
  for (endpoint& s : sides_) {
    FREEHCA_TRY(destroy(s.completions));
    FREEHCA_TRY(destroy(s.region));
  }
  FREEHCA_TRY(destroy(shared_));
  FREEHCA_TRY(destroy(counted_));
  FREEHCA_TRY(destroy(peer_));
  return destroy(domain_);
}

status loopback::send(work_requests::send_request request) {
  if (datagrams()) {
    request.to = &objects().find(peer_)->address;
    request.remote_qpn = qpn_of(objects(), sides_[1].queue);
    request.qkey = datagram_key;
  }
  return work_requests::post_and_ring(objects().find(sides_[0].queue)->rings.send, request);
}

status loopback::receive(const queues::receive_request& request) {
  if (shared_) return objects().find(shared_)->rings.post_and_ring(request);
  return objects().find(sides_[1].queue)->rings.receive.post_and_ring(request);
}

/// Is there one?
bool loopback::take(unsigned side, queues::work_completion& to) {
  if (side != 0 || !counted_)
    return objects().find(sides_[side].completions)->rings.poll(&to, 1) == 1;
  const queues::counting& counts = objects().find(counted_)->counts;
  if (counts.succeeded + counts.failed == seen_) return false;
  to = counts.failed != 0 ? counts.first_failure : queues::work_completion{.wr_id = seen_};
  ++seen_;
  return true;
}

status loopback::next(unsigned side, queues::work_completion& to) {
  const std::uint64_t limit = clock::after(hca().platform().now(), completion_limit);
  for (unsigned looks = 0; !take(side, to); ++looks) {
    session_.look();
    // What is in flight comes soon: the rest is looked at only when it does not.
    if (looks < looks_before_doubt) continue;
    if (!hca().up()) return transport_error::gone;
    if (session_.host().interrupted()) return driver_error::cancelled;
    if (hca().platform().now() >= limit) return transport_error::timeout;
  }
  return {};
}

}  // namespace freehca::loopback_traffic
