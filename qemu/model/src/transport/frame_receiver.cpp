// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/frame_receiver.hpp"

#include <cstdio>
#include <utility>

#include "frames/frame_check_sequence.hpp"
#include "frames/receive_checks.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/receive_queues.hpp"
#include "saving/transfer.hpp"
#include "transport/receive_spreading.hpp"
#include "transport/work_completions.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

bool has_checksum(const frame_view& v, const frame_headers& h) {
  return image<udp_header>::from_bytes(v.bytes.data() + h.transport).get<&udp_header::checksum>() !=
         0;
}

/// What a completion says of a frame's headers, those inside a tunnel where there are such.
void put_checks(const frame_view& v, image<cqe>& e) {
  const receive_checks c = check(v, v.inner ? *v.inner : v.outer);
  put(c, e);
  e.set<&cqe::grh>(c.ipv6);
  if (!v.inner) return;
  const receive_checks outside = check(v, v.outer);
  // Who reads that what is inside is right believes the outside too (en_rx.c
  // mlx4_en_process_rx_cq, csum_level).
  if (has_checksum(v, v.outer) && !outside.l4_ok)
    e.set<&cqe::l4_csum_ok>(false).set<&cqe::checksum>(0);
  e.set<&cqe::tunnel>(true)
      .set<&cqe::tunnel_ipv4>(outside.ipv4)
      .set<&cqe::tunnel_ip_ok>(outside.ip_ok)
      .set<&cqe::tunnel_csum>(outside.l4_ok);
}

void put_tag(const frame_headers& h, image<cqe>& e) {
  if (!h.tag) return;
  const bool service = h.tag->get<&vlan_tag::tpid>() == ethertype::service_vlan;
  e.set<&cqe::cvlan_present>(!service)
      .set<&cqe::svlan_present>(service)
      .set<&cqe::sl>(h.tag->get<&vlan_tag::priority>() << 1 |
                     (h.tag->get<&vlan_tag::dei>() ? 1u : 0u))
      .set<&cqe::vid>(h.tag->get<&vlan_tag::vid>());
}

}  // namespace

void frame_receiver::receive(unsigned port, const frame& f) {
  delivery d;
  auto& waiting = waiting_[port - 1];
  if (waiting.empty() && go_on(port, d, f)) return;
  d.f = f;
  waiting.push_back(std::move(d));
  a_.work.set_aside();
  schedule(port);
}

void frame_receiver::schedule(unsigned port) {
  if (std::exchange(scheduled_[port - 1], true)) return;
  work_.soon(port, {.kind = deliver_frames, .number = port});
}

void frame_receiver::run(unsigned port) {
  auto& waiting = waiting_[port - 1];
  scheduled_[port - 1] = false;
  while (!waiting.empty()) {
    delivery& d = waiting.front();
    if (!go_on(port, d, d.f)) return schedule(port);
    waiting.pop_front();
    a_.work.taken_up();
    if (a_.account.slice_over() && !waiting.empty()) return schedule(port);
  }
}

bool frame_receiver::go_on(unsigned port, delivery& d, const frame& f) {
  const auto v = frame_view::of(f.bytes, a_.profile.vxlan_port);
  if (!v) return true;  // ports let none in that is so short
  if (!d.found) {
    if (!d.searching) d.searching = steers_.begin(port, *v);
    if (!steers_.go_on(*d.searching, port, *v, d.members)) return false;
    d.found = true;
    if (d.members.empty()) drop(port, *v, "nobody is steered to");
    // The search and a copy are two steps: each alone may cost as much as a step can.
    else if (a_.account.slice_over()) return false;
  }
  while (d.next < d.members.size()) {
    const member m = d.members[d.next++];
    a_.account.charge(work_account::packet);
    if (m.block_loopback && f.looped_from &&
        pairs_.index_of(f.looped_from->qpn) == pairs_.index_of(m.qpn))
      continue;
    queue_pair* qp = pairs_.find(m.qpn);
    if (qp == nullptr) drop(port, *v, "its queue pair is in the reset state");
    else if (takes_from(*qp, port)) deliver(port, *qp, f, *v);
    if (a_.account.slice_over() && d.next < d.members.size()) return false;
  }
  return true;
}

void frame_receiver::drop(unsigned port, const frame_view& v, const char* why) {
  if (!a_.rules.is_heard(remark_kind::packet_dropped)) return;
  char subject[120];
  std::snprintf(subject, sizeof subject,
                "port %u: a frame of %zu bytes to %012llx, type 0x%04x, was dropped", port,
                v.bytes.size(), static_cast<unsigned long long>(v.outer.destination),
                unsigned{v.outer.ether_type});
  a_.rules.explain(remark_kind::packet_dropped, subject, {"", why});
}

/// Who blocks the loop gets nothing that a queue pair with his own counter has sent (hw/mlx4/qp.c:
/// a counter of its own for each such queue pair).
bool frame_receiver::stays_away(const queue_pair& qp, const frame& f, const frame_view& v) const {
  if (!f.looped_from || !qp.context.get<&primary_path::src_check_counter>() ||
      qp.context.get<&primary_path::counter_index>() != f.looped_from->counter)
    return false;
  return v.outer.multicast() ? qp.context.get<&primary_path::src_check_mc_lb>()
                             : qp.context.get<&primary_path::src_check_uc_lb>();
}

bool frame_receiver::takes_from(const queue_pair& qp, unsigned port) const {
  return qp.carries_frames() && (qp.way.port == port || a_.profile.any_receive_port);
}

void frame_receiver::deliver(unsigned port, queue_pair& steered, const frame& f,
                             const frame_view& v) {
  if (!steered.can_receive())
    return drop(port, v, "its queue pair is not ready to receive (IBTA 10.3.1)");
  queue_pair* qp = &steered;
  std::uint32_t hash = 0;
  if (steered.spreads()) {
    const spread to = spread_of(steered.context, v, a_.profile.hash_ip_fragments);
    qp = pairs_.find(to.qpn);
    hash = to.hash;
    if (qp == nullptr || !qp->can_receive() || !takes_from(*qp, port) || qp->spreads())
      return drop(port, v, "RSS names a queue pair that takes no frames");
  }
  if (!stays_away(*qp, f, v)) place(port, *qp, f, v, hash);
}

void frame_receiver::place(unsigned number, queue_pair& qp, const frame& f, const frame_view& v,
                           std::uint32_t hash) {
  ethernet_port& port = *a_.links->ethernet(number);
  receive_request r;
  switch (receives_.take(qp, r)) {
    case take_result::empty:
      port.dropped_for_want_of_room();
      return drop(number, v, "no receive was posted");
    case take_result::fault:
      errors_.enter_error(qp, std::nullopt);
      return;
    case take_result::taken:
      break;
  }
  const bool strips = v.outer.tag && !qp.context.get<&qpc::vsd>();
  const bool with_fcs = qp.context.get<&qpc::scatter_fcs>();
  const std::size_t tag = strips ? vlan_tag::bytes : 0;
  const std::size_t bytes = f.bytes.size() - tag + (with_fcs ? fcs_bytes : 0);
  a_.links->counters_by_index().received(
      static_cast<unsigned>(qp.context.get<&primary_path::counter_index>()),
      f.bytes.size() + fcs_bytes);
  if (bytes > r.data.size()) {
    a_.rules.because("a frame of %zu bytes; wanted: at most the %llu bytes of the receive", bytes,
                     static_cast<unsigned long long>(r.data.size()));
    completions_.receive_failed(qp, r, failures::local_length, a_.rules.take_reason());
    return;
  }
  memory_regions& regions = *a_.regions;
  access_result done = access_result::ok;
  std::size_t at = 0;
  const auto put = [&](const std::byte* from, std::size_t n) {
    if (done == access_result::ok && n != 0) done = r.data.scatter(regions, r.owner, at, from, n);
    at += n;
  };
  const std::size_t addresses = ethernet_addresses::bytes;
  put(f.bytes.data(), addresses);
  put(f.bytes.data() + addresses + tag, f.bytes.size() - addresses - tag);
  if (with_fcs) put(frame_check_sequence(f.bytes).data(), fcs_bytes);
  if (done != access_result::ok) {
    // A ring goes on behind an entry that failed (en_rx.c mlx4_en_process_rx_cq).
    a_.rules.because("the receive's memory: %s", name_of(done));
    completions_.receive_failed(qp, r, failures::local_protection, a_.rules.take_reason());
    return;
  }
  // The checksums, and the FCS where it is wanted, are sums over all of it.
  a_.account.charge_check((with_fcs ? 2 : 1) * f.bytes.size());
  image<cqe> e;
  put_checks(v, e);
  put_tag(v.outer, e);
  e.set<&cqe::immediate>(hash)
      .set<&cqe::my_lid_path>(port.mac_index(v.outer.destination).value_or(0))
      .set<&cqe::byte_count>(bytes)
      .set<&cqe::opcode>(static_cast<std::uint64_t>(cqe_opcode::recv_send));
  completions_.received_frame(qp, r, e);
}

void frame_receiver::forget(unsigned port) {
  auto& waiting = waiting_[port - 1];
  a_.work.taken_up(waiting.size());
  a_.work.discard(waiting);
}

void frame_receiver::clear() {
  for (unsigned port = 1; port <= waiting_.size(); ++port) forget(port);
  scheduled_ = {};
}

/// The scheduler's count of the packets that are set aside follows what is loaded here.
template <class Archive>
void frame_receiver::transfer_members(Archive& archive) {
  if constexpr (Archive::loads)
    for (const auto& waiting : waiting_) a_.work.taken_up(waiting.size());
  saving::transfer_members(archive, *this);
  if constexpr (Archive::loads) {
    for (unsigned port = 1; port <= waiting_.size(); ++port) {
      const auto& waiting = waiting_[port - 1];
      a_.work.set_aside(waiting.size());
      if (!waiting.empty() && a_.links->ethernet(port) == nullptr)
        archive.refuse("frames wait at port %u, which is no Ethernet port", port);
    }
  }
}

void frame_receiver::transfer_state(saving::writer& to) {
  transfer_members(to);
}

void frame_receiver::transfer_state(saving::reader& from) {
  transfer_members(from);
}

}  // namespace freehca::model
