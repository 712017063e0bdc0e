// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "rc_loopback.hpp"

#include <freehca/layouts/ib_types.hpp>

namespace freehca::verified_traffic {
namespace {

constexpr std::uint64_t completion_limit = clock::seconds(10);
constexpr unsigned looks_before_doubt = 2000;

}  // namespace

unsigned rc_loopback::mtu() const {
  return static_cast<unsigned>(layouts::mtu_bytes(session_.adapter().port(port_).active_mtu));
}

status rc_loopback::open(std::size_t bytes, unsigned requests) {
  const auto made = session_.objects().create<protection_domain>();
  if (!made.ok()) return made.error();
  domain_ = made.value();
  for (unsigned i = 0; i < sides; ++i) FREEHCA_TRY(open_side(i, bytes, requests));
  for (unsigned i = 0; i < sides; ++i) FREEHCA_TRY(connect(i));
  return {};
}

status rc_loopback::open_side(unsigned i, std::size_t bytes, unsigned requests) {
  endpoint& s = sides_[i];
  verbs& objects = session_.objects();
  const auto memory = session_.allocate_memory(bytes);
  if (!memory.ok()) return memory.error();
  s.memory = memory.value();
  create_memory_region region;
  region.start(objects,
               {.pd = domain_,
                .pages = s.memory->pages(),
                .virtual_address = 0,
                .access = {.local_write = true, .remote_read = true, .remote_write = true}});
  FREEHCA_TRY(session_.await(region));
  s.region = region.made();
  s.key = key_of(objects, s.region);
  create_completion_queue completions;
  completions.start(objects, {.entries = 2 * requests});
  FREEHCA_TRY(session_.await(completions));
  s.completions = completions.made();
  create_queue_pair queue;
  queue.start(objects, {.pd = domain_,
                        .send_cq = s.completions,
                        .receive_cq = s.completions,
                        .sends = requests,
                        .receives = requests});
  FREEHCA_TRY(session_.await(queue));
  s.queue = queue.made();
  return {};
}

status rc_loopback::connect(unsigned i) {
  const port_attributes& port = session_.adapter().port(port_);
  connection_attributes a;
  a.remote_read = a.remote_write = true;
  a.path_mtu = port.active_mtu;
  a.min_rnr_timer = 12;
  a.remote_qpn = qpn_of(session_.objects(), sides_[1 - i].queue);
  a.receive_psn = 0x100 + i;
  a.send_psn = 0x101 - i;
  a.reads_as_responder = a.reads_as_requester = 4;
  a.address.port = port_;
  a.address.dlid = port.lid;
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    modify_queue_pair m;
    m.start(session_.objects(), sides_[i].queue, to, a);
    FREEHCA_TRY(session_.await(m));
  }
  return {};
}

template <class Destruction, class Handle>
status rc_loopback::destroy(Handle& h) {
  if (!h) return {};
  Destruction d;
  d.start(session_.objects(), h);
  FREEHCA_TRY(session_.await_cleanup(d));
  h = {};
  return {};
}

status rc_loopback::close() {
  if (!session_.adapter().up()) return {};
  for (endpoint& s : sides_) FREEHCA_TRY(destroy<destroy_queue_pair>(s.queue));
  for (endpoint& s : sides_) {
    FREEHCA_TRY(destroy<destroy_completion_queue>(s.completions));
    FREEHCA_TRY(destroy<destroy_memory_region>(s.region));
  }
  if (domain_) FREEHCA_TRY(session_.objects().destroy(domain_));
  domain_ = {};
  return {};
}

status rc_loopback::next(unsigned i, queues::work_completion& to) {
  queues::cq& completions = session_.objects().find(sides_[i].completions)->rings;
  const std::uint64_t limit = clock::after(session_.host().platform().now(), completion_limit);
  for (unsigned looks = 0; completions.poll(&to, 1) == 0; ++looks) {
    session_.turn(false);
    // What is in flight comes soon: the rest is looked at only when it does not.
    if (looks < looks_before_doubt) continue;
    if (!session_.adapter().up()) return transport_error::gone;
    if (session_.host().interrupted()) return driver_error::cancelled;
    if (session_.host().platform().now() >= limit) return transport_error::timeout;
  }
  return {};
}

}  // namespace freehca::verified_traffic
