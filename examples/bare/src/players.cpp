// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "players.hpp"

#include <freehca/bare/machine.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/texts/names.hpp>

namespace freehca::bare {

namespace {

constexpr unsigned log_page = 12;
constexpr std::uint32_t requests = 8;
constexpr int beyond = 0xe5;

}  // namespace

std::size_t players::most_bytes() const {
  return datagrams() ? static_cast<std::size_t>(layouts::mtu_bytes(hca_.port(port_).active_mtu))
                     : most_message;
}

template <class K>
status players::make(const typename K::attributes& a, handle<K>& to) {
  create_object<K> creation;
  creation.start(verbs_, a);
  FREEHCA_TRY(finish(creation, verbs_));
  to = creation.made();
  return {};
}

template <class K>
status players::destroy(handle<K> h) {
  destroy_object<K> destruction;
  destruction.start(verbs_, h);
  return finish(destruction, verbs_);
}

status players::open_side(side& s) {
  if (!domain_) {
    const auto domain = verbs_.create<protection_domain>();
    if (!domain.ok()) return domain.error();
    domain_ = domain.value();
  }
  const result<dma_region> memory = hca_.arena().allocate(side_bytes);
  if (!memory.ok()) return memory.error();
  s.memory = memory.value();
  FREEHCA_TRY(make<memory_region>({.pd = domain_,
                                   .pages = page_list(s.memory, log_page),
                                   .virtual_address = 0,
                                   .access = {.local_write = true}},
                                  s.region));
  s.key = key_of(verbs_, s.region);
  FREEHCA_TRY(make<completion_queue>({.entries = 2 * requests}, s.completions));
  return make<queue_pair>({.pd = domain_,
                           .send_cq = s.completions,
                           .receive_cq = s.completions,
                           .service = service_,
                           .sends = requests,
                           .receives = requests},
                          s.pair);
}

status players::connect(const side& s, const connection_attributes& a) {
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    modify_queue_pair change;
    change.start(verbs_, s.pair, to, a);
    FREEHCA_TRY(finish(change, verbs_));
  }
  return {};
}

status players::make_way(std::uint16_t lid) {
  const auto way = verbs_.create<address_handle>(
      {.pd = domain_, .address = infiniband_path{.port = port_, .dlid = lid}});
  if (!way.ok()) return way.error();
  way_ = way.value();
  return {};
}

status players::close_side(side& s) {
  FREEHCA_TRY(destroy(s.pair));
  FREEHCA_TRY(destroy(s.completions));
  FREEHCA_TRY(destroy(s.region));
  hca_.arena().free(s.memory);
  s = {};
  return {};
}

status players::close_domain() {
  if (way_) FREEHCA_TRY(verbs_.destroy(way_));
  FREEHCA_TRY(verbs_.destroy(domain_));
  way_ = {};
  domain_ = {};
  return {};
}

status players::receive(const side& at, std::size_t bytes) {
  const std::size_t room = header_bytes() + bytes;
  std::byte* const arrives = at.memory.host + side_bytes / 2;
  __builtin_memset(arrives, beyond, room + 1);
  cache::clean(arrives, room + 1);
  const queues::data_entry into = queues::entry_of(side_bytes / 2, room, at.key);
  return verbs_.find(at.pair)->rings.receive.post_and_ring(
      queues::receive_request{number_, &into, 1});
}

status players::send(const side& from, std::uint32_t to_qpn, std::uint32_t qkey,
                     std::size_t bytes) {
  cache::clean(outgoing(from), bytes);
  queues::sq& queue = verbs_.find(from.pair)->rings.send;
  const queues::data_entry what = queues::entry_of(0, bytes, from.key);
  // A post with a list also accepts a message of no bytes. A post with one entry would need more
  // code for it.
  const queues::data_list list{&what, 1};
  if (!datagrams()) return queue.post_and_ring(queues::send_list{.wr_id = number_, .data = list});
  return queue.post_and_ring(queues::send_datagram_list{
      .wr_id = number_, .to = {&verbs_.find(way_)->address, to_qpn, qkey}, .data = list});
}

status players::await(const side& at, std::uint64_t limit) {
  const std::uint64_t end = clock::after(machine::now(), limit);
  while (verbs_.find(at.completions)->rings.poll(&came_, 1) == 0) {
    verbs_.poll();
    if (!hca_.up()) return transport_error::gone;
    if (machine::now() >= end) return transport_error::timeout;
    machine::pause();
  }
  if (!came_.ok()) return complain(queues::name_of(came_.status));
  if (came_.opcode == queues::work_opcode::receive)
    cache::invalidate(at.memory.host + side_bytes / 2, side_bytes / 2);
  return {};
}

status players::check(const side& at, std::size_t bytes, std::size_t came, std::uint64_t number) {
  if (came != header_bytes() + bytes) return complain("another length arrived");
  if (!holds(incoming(at), bytes, number)) return complain("other bytes arrived");
  if (incoming(at)[bytes] != std::byte{beyond})
    return complain("a byte behind the message was written");
  return {};
}

status players::complain(const char* what) {
  wrong_ = what;
  return transport_error::bad_reply;
}

}  // namespace freehca::bare
