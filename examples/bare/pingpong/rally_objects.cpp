// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The objects that messages need.
#include "bring_up.hpp"
#include "rally.hpp"

namespace freehca::bare {

namespace {

constexpr unsigned log_page = 12;
constexpr std::uint32_t requests = 8;
constexpr std::uint8_t receiver_not_ready = 12;  // 0.64 ms (IBTA)

}  // namespace

template <class K>
status rally::make(const typename K::attributes& a, handle<K>& to) {
  create_object<K> creation;
  creation.start(verbs_, a);
  FREEHCA_TRY(finish(creation, verbs_));
  to = creation.made();
  return {};
}

template <class K>
status rally::destroy(handle<K> h) {
  destroy_object<K> destruction;
  destruction.start(verbs_, h);
  return finish(destruction, verbs_);
}

status rally::open() {
  const auto domain = verbs_.create<protection_domain>();
  if (!domain.ok()) return domain.error();
  domain_ = domain.value();
  for (side& s : sides_) FREEHCA_TRY(open_side(s));
  for (unsigned i = 0; i < 2; ++i) FREEHCA_TRY(connect(i));
  if (!datagrams()) return {};
  const auto way = verbs_.create<address_handle>(
      {.pd = domain_, .address = {.port = port_, .dlid = hca_.port(port_).lid}});
  if (!way.ok()) return way.error();
  way_ = way.value();
  return {};
}

status rally::open_side(side& s) {
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

status rally::connect(unsigned i) {
  const port_attributes& port = hca_.port(port_);
  connection_attributes a;
  a.qkey = datagram_key;
  a.path_mtu = port.active_mtu;
  a.min_rnr_timer = receiver_not_ready;
  a.remote_qpn = qpn_of(verbs_, sides_[1 - i].pair);
  a.receive_psn = 0x100 + i;
  a.send_psn = 0x101 - i;
  a.address.port = port_;
  a.address.dlid = port.lid;
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    modify_queue_pair change;
    change.start(verbs_, sides_[i].pair, to, a);
    FREEHCA_TRY(finish(change, verbs_));
  }
  return {};
}

status rally::close() {
  for (const side& s : sides_) FREEHCA_TRY(destroy(s.pair));
  for (side& s : sides_) {
    FREEHCA_TRY(destroy(s.completions));
    FREEHCA_TRY(destroy(s.region));
    hca_.arena().free(s.memory);
    s = {};
  }
  if (way_) FREEHCA_TRY(verbs_.destroy(way_));
  way_ = {};
  return verbs_.destroy(domain_);
}

}  // namespace freehca::bare
