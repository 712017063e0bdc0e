// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "scene.hpp"

#include <initializer_list>

namespace freehca::conformance {

using namespace layouts;

namespace {

constexpr std::uint32_t requests_at_once = 8;
// They run out within two seconds, also on a card that takes the four times as long that it may.
constexpr std::uint8_t retries = 3, rnr_retries = 1, timeout_67_ms = 14, rnr_10_us = 1;

}  // namespace

template <class K>
status scene::make(const typename K::attributes& a, handle<K>& to) {
  FREEHCA_TRY(with_.ended());
  create_object<K> creation;
  creation.start(with_.objects(), a);
  FREEHCA_TRY(with_.finish(creation));
  to = creation.made();
  return {};
}

template <class K>
status scene::destroy(handle<K>& h) {
  if (!h) return {};
  FREEHCA_TRY(with_.ended());
  if constexpr (device_kind<K>) {
    destroy_object<K> destruction;
    destruction.start(with_.objects(), h);
    FREEHCA_TRY(with_.finish(destruction));
  } else {
    FREEHCA_TRY(with_.objects().destroy(h));
  }
  h = {};
  return {};
}

status scene::open() {
  const auto domain = with_.objects().create<protection_domain>();
  if (!domain.ok()) return domain.error();
  domain_ = domain.value();
  if (plan_.shared)
    FREEHCA_TRY(make<shared_receive_queue>({.pd = domain_, .receives = requests_at_once}, shared_));
  for (end& s : sides_) FREEHCA_TRY(open_side(s));
  for (unsigned i = 0; i < 2; ++i) FREEHCA_TRY(connect(i));
  if (plan_.service != qp_service::ud) return {};
  const auto way = with_.objects().create<address_handle>(
      {.pd = domain_,
       .address = infiniband_path{.port = with_.where().port, .dlid = with_.port().lid}});
  if (!way.ok()) return way.error();
  way_ = way.value();
  return {};
}

status scene::open_side(end& s) {
  const result<dma_region> memory = with_.adapter().arena().allocate(bytes);
  if (!memory.ok()) return memory.error();
  s.memory = memory.value();
  FREEHCA_TRY(make<memory_region>({.pd = domain_,
                                   .pages = page_list(s.memory, 12),
                                   .virtual_address = address,
                                   .access = {.local_write = true,
                                              .remote_read = true,
                                              .remote_write = true,
                                              .remote_atomic = true}},
                                  s.region));
  s.key = key_of(with_.objects(), s.region);
  FREEHCA_TRY(make<completion_queue>({.entries = 2 * requests_at_once}, s.completions));
  return make<queue_pair>({.pd = domain_,
                           .send_cq = s.completions,
                           .receive_cq = s.completions,
                           .service = plan_.service,
                           .sends = requests_at_once,
                           .receives = plan_.shared ? 0 : requests_at_once,
                           .shared = shared_},
                          s.queue);
}

status scene::connect(unsigned i) {
  const qp_state last = i == far ? plan_.far : qp_state::rts;
  for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
    if (to > last) break;
    FREEHCA_TRY(move(i, to));
  }
  return {};
}

status scene::move(unsigned i, qp_state to) {
  FREEHCA_TRY(with_.ended());
  connection_attributes a;
  a.remote_read = a.remote_write = a.remote_atomic = i == near || plan_.far_allows;
  a.qkey = qkey;
  a.path_mtu = with_.port().active_mtu;
  a.min_rnr_timer = rnr_10_us;
  a.remote_qpn = qpn_of(with_.objects(), sides_[1 - i].queue);
  a.receive_psn = 0x100 + i;
  a.send_psn = 0x101 - i;
  a.address = infiniband_path{.port = with_.where().port, .dlid = with_.port().lid};
  a.retry_count = retries;
  a.rnr_retry = rnr_retries;
  a.ack_timeout = timeout_67_ms;
  modify_queue_pair change;
  change.start(with_.objects(), sides_[i].queue, to, a);
  return with_.finish(change);
}

status scene::close() {
  if (!with_.ended().ok() || !with_.adapter().up()) return {};
  for (end& s : sides_) FREEHCA_TRY(destroy(s.queue));
  for (end& s : sides_) {
    FREEHCA_TRY(destroy(s.completions));
    FREEHCA_TRY(destroy(s.region));
    if (s.memory.host != nullptr) with_.adapter().arena().free(s.memory);
    s = {};
  }
  FREEHCA_TRY(destroy(shared_));
  FREEHCA_TRY(destroy(way_));
  return destroy(domain_);
}

queues::data_entry scene::local(std::uint32_t length, std::uint64_t offset) {
  return {address + offset, length, sides_[near].key};
}

queues::remote_memory scene::remote(std::uint64_t offset) {
  return {address + offset, sides_[far].key};
}

queues::datagram_destination scene::destination() {
  return {&with_.objects().find(way_)->address, qpn_of(with_.objects(), sides_[far].queue), qkey};
}

status scene::receive(std::uint32_t length, std::uint32_t key_beside) {
  const queues::data_entry into{address, length, sides_[far].key + key_beside};
  const queues::receive_request r{1, &into, 1};
  if (shared_) return with_.objects().find(shared_)->rings.post_and_ring(r);
  return pair(far).rings.receive.post_and_ring(r);
}

std::byte* scene::first_request() {
  const queue_pair& p = pair(near);
  const bool receive_first = !shared_ && p.receive_shape.log_stride > p.send_shape.log_stride;
  return p.ring.host + (receive_first ? p.receive_shape.bytes() : 0);
}

finding scene::none_came() {
  return with_.adapter().up() ? finding(answer()) : finding(status(transport_error::gone));
}

finding scene::completion(unsigned side) {
  if (!with_.adapter().up()) return status(transport_error::gone);
  struct poll_of {
    queues::cq* queue;
    queues::work_completion came;
  } at{&with_.objects().find(sides_[side].completions)->rings, {}};
  const auto there = [](void* of) {
    auto& l = *static_cast<poll_of*>(of);
    return l.queue->poll(&l.came, 1) == 1;
  };
  if (!with_.wait(there, &at)) return none_came();
  return answer(at.came.status);
}

finding scene::state(unsigned side) {
  if (!with_.adapter().up()) return status(transport_error::gone);
  const status s =
      with_.issue({.what = opcode::query_qp, .modifier = pair(side).number, .output = true});
  if (!s.ok()) return s;
  return answer(context_of(with_.output<qp_mailbox>()).get<&qpc::state>());
}

template <class Handle>
finding scene::heard(Handle queue, event_type type) {
  struct hearing {
    const heard_events* events;
    Handle queue;
    event_type type;
  } at{&with_.where().events, queue, type};
  const auto there = [](void* of) {
    const auto& l = *static_cast<hearing*>(of);
    return l.events->heard(l.queue, l.type);
  };
  if (!with_.wait(there, &at)) return none_came();
  return answer(type);
}

finding scene::event(unsigned side, event_type type) {
  return heard(sides_[side].queue, type);
}
finding scene::event_of_shared(event_type type) {
  return heard(shared_, type);
}

status scene::command(unsigned side, opcode o, std::uint32_t more_modifier) {
  return with_.issue({.what = o, .modifier = pair(side).number | more_modifier});
}

}  // namespace freehca::conformance
