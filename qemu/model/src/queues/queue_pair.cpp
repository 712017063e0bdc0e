// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/queue_pair.hpp"

#include <algorithm>

#include "basis/adapter_limits.hpp"
#include "queues/qpn.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

template <class Path>
path decode_path(const image<qpc>& context) {
  path way;
  const auto queue = static_cast<unsigned>(context.get<&Path::sched_queue>());
  way.port = sched_queue_port(queue);
  way.sl = sched_queue_sl(queue);
  way.path_bits = static_cast<std::uint8_t>(context.get<&Path::my_lid_smac_idx>());
  way.dlid = static_cast<std::uint16_t>(context.get<&Path::rlid>());
  way.force_loopback = context.get<&Path::force_loopback>() != 0;
  way.global = context.get<&Path::grh>() != 0;
  way.sgid_index = static_cast<unsigned>(context.get<&Path::mgid_index>());
  way.hop_limit = static_cast<std::uint8_t>(context.get<&Path::hop_limit>());
  way.traffic_class = static_cast<std::uint8_t>(context.get<&Path::tclass>());
  way.flow_label = static_cast<std::uint32_t>(context.get<&Path::flow_label>());
  std::copy_n(context.bytes_of<&Path::rgid>(), way.dgid.size(), way.dgid.begin());
  way.dmac = context.get<&Path::dmac>();
  way.smac_index = static_cast<unsigned>(context.get<&Path::my_lid_smac_idx>());
  if (context.get<&Path::fvl>())
    way.vlan_index = static_cast<unsigned>(context.get<&Path::vlan_index>());
  way.queue_priority = sched_queue_priority(queue);
  // Without `feup` a tag has priority 0. No source: chosen.
  if (context.get<&Path::feup>()) way.priority = sched_queue_priority(queue);
  way.roce = context.get<&qpc::roce>();
  way.udp_source_port = static_cast<std::uint16_t>(context.get<&qpc::roce_entropy>());
  // An alternate path names none.
  way.counter = static_cast<std::uint8_t>(context.get<&primary_path::counter_index>());
  way.fixed_port = context.get<&qpc::fpp>();
  return way;
}

}  // namespace

void queue_pair::refresh(const port_layers& layers) {
  decode_fields();
  on_ethernet = layers.ethernet(way.port);
  place_queues();
}

void queue_pair::decode_fields() {
  state = context.get<&qpc::state>();
  service = context.get<&qpc::service>();
  owner.pd = static_cast<std::uint32_t>(context.get<&qpc::pd>());
  owner.qpn = number();
  owner.reserved_key_allowed = context.get<&qpc::reserved_lkey>() != 0;
  buffer.mtt_base = context.get<&qpc::mtt_base>();
  buffer.log_page_bytes = static_cast<unsigned>(context.get<&qpc::log_page_size>()) + 12;
  buffer.page_offset = static_cast<std::uint32_t>(context.get<&qpc::page_offset>() * 64);
  way = decode_path<primary_path>(context);
  alternate = decode_path<alternate_path>(context);
  if (special != 0) way.port = special_port;
  mtu = layouts::mtu_bytes(context.get<&qpc::mtu>());
  message_bytes_max = std::uint64_t{1}
                      << std::min<std::uint64_t>(context.get<&qpc::msg_max>(), log_message_bytes);
  send_cqn = static_cast<std::uint32_t>(context.get<&qpc::cqn_send>());
  receive_cqn = static_cast<std::uint32_t>(context.get<&qpc::cqn_recv>());
  shared_receive = context.get<&qpc::srq>() != 0;
  srqn = static_cast<std::uint32_t>(context.get<&qpc::srqn>());
}

void queue_pair::place_queues() {
  // The queue with the larger stride comes first in the buffer, the send queue when they are equal
  // (Linux hw/mlx4/qp.c set_kernel_sq_size, libmlx4 mlx4_alloc_qp_buf). With an SRQ, and with XRC,
  // there is no receive queue, whatever the size field says: Linux leaves all ones there. A send
  // queue of one entry cannot be (the headroom needs 2 KiB), and mlx4_en's receive rings say log 0
  // for none.
  sq.ring.log_entries = static_cast<unsigned>(context.get<&qpc::log_sq_size>());
  sq.ring.log_stride = static_cast<unsigned>(context.get<&qpc::log_sq_stride>()) + 4;
  // An XRC target never sends; the kernel's own have a stride below a basic block
  // (set_kernel_sq_size).
  const bool target = service == qp_service::xrc && sq.ring.log_stride < 6;
  sq.ring.present = sq.ring.log_entries != 0 && !target && !spreads();
  rq.ring.log_entries = static_cast<unsigned>(context.get<&qpc::log_rq_size>());
  rq.ring.log_stride = static_cast<unsigned>(context.get<&qpc::log_rq_stride>()) + 4;
  rq.ring.present = !shared_receive && service != qp_service::xrc && !spreads();
  const bool receive_first = rq.ring.present && rq.ring.log_stride > sq.ring.log_stride;
  // The one send entry of mlx4_en's receive rings is there, though nothing is ever sent.
  const bool sends_before = sq.ring.present || (carries_frames() && rq.ring.present);
  rq.ring.first = receive_first || !sends_before ? 0 : sq.ring.bytes();
  sq.ring.first = receive_first ? rq.ring.bytes() : 0;
}

const char* response::broken_invariant() const {
  return psn <= psn_mask && msn <= psn_mask && value <= aeth{}.value.mask()
             ? nullptr
             : "a field of the answer is wider than its header's";
}

const char* responder_resource::broken_invariant() const {
  return psn <= psn_mask ? nullptr : "sequence numbers have 24 bits";
}

const char* receive_side::broken_invariant() const {
  if (expected_psn > psn_mask || msn > psn_mask) return "sequence numbers have 24 bits";
  if (in_progress == message::send && !request && !closing)
    return "a send in progress has its receive";
  constexpr std::size_t most = std::size_t{1} << limits_connectx3_pro.log_read_resources;
  return executed.size() <= most ? nullptr : "no responder has so many resources";
}

namespace {

bool is_service(qp_service s) {
  return s == qp_service::rc || s == qp_service::uc || s == qp_service::ud ||
         s == qp_service::xrc || s == qp_service::mlx;
}

/// The sequence numbers that the send engine gives a request.
std::uint64_t psns_of(const queue_pair& qp, const send_request& r) {
  if (!qp.reliable() && r.large != nullptr) return r.segments();
  if (!qp.connected() || r.is_atomic() || r.data.size() <= qp.mtu) return 1;
  return (r.data.size() + qp.mtu - 1) / qp.mtu;
}

}  // namespace

const char* queue_pair::broken_invariant() const {
  if (qpn > qpn_mask) return "the number of a queue pair has 24 bits";
  if (special > 2 || (special != 0 && special_port != 1 && special_port != 2))
    return "a special queue pair is QP0 or QP1 of a port";
  if (!is_service(service)) return "the adapter has no such service";
  if (state == qp_state::reset || state > qp_state::sq_draining)
    return "the queue pair is in none of the states that commands lead to";
  if (connected() && can_receive() && mtu == 0) return "a connection has an MTU";
  if (!rq.responses.empty() && !(reliable() && can_receive()))
    return "only a reliable queue pair that can receive answers";

  const send_window& window = sq.window;
  for (const send_request& r : window.requests()) {
    if (r.wrong) continue;
    if (!r.row->served_by(service)) return "the service does not have the opcode";
    if (r.data.size() > message_bytes_max) return "a message is longer than the context allows";
    if (r.started && state != qp_state::error && r.psns != psns_of(*this, r))
      return "a message has as many packets as its data fill";
  }
  if (state == qp_state::init || state == qp_state::rtr)
    return window.empty() ? nullptr : "no request is fetched before the queue pair can send";
  if (state == qp_state::error) return nullptr;
  if (window.is_reliable() != reliable()) return "the service is not that of the requests";
  if (state == qp_state::sq_error)
    return reliable() ? "a reliable queue pair is in error as a whole" : nullptr;
  return reliable() ? window.broken_progress() : nullptr;
}

}  // namespace freehca::model
