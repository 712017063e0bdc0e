// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/queue_pair.hpp"

#include <algorithm>

#include "basis/adapter_limits.hpp"

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
  on_ethernet = layers.ethernet(way.port);
  mtu = layouts::mtu_bytes(context.get<&qpc::mtu>());
  message_bytes_max = std::uint64_t{1}
                      << std::min<std::uint64_t>(context.get<&qpc::msg_max>(), log_message_bytes);
  send_cqn = static_cast<std::uint32_t>(context.get<&qpc::cqn_send>());
  receive_cqn = static_cast<std::uint32_t>(context.get<&qpc::cqn_recv>());
  shared_receive = context.get<&qpc::srq>() != 0;
  srqn = static_cast<std::uint32_t>(context.get<&qpc::srqn>());

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

}  // namespace freehca::model
