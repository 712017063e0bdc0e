// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Linux 6.1 fills the contexts in the same way (hw/mlx4/qp.c __mlx4_ib_modify_qp with
// IB_QPT_RAW_PACKET, mlx4/en_resources.c mlx4_en_fill_qp_context).
#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>

#include <freehca/queues/frame_requests.hpp>

namespace freehca {

using namespace layouts;

namespace {

/// Most bytes of a request without large sends: more than any port takes (Linux 6.1 port.c
/// mlx4_SET_PORT_general, an MTU of 16 bits).
constexpr std::uint32_t most_frame_bytes = 0x10000;

/// The attributes of a queue pair with rings of the same size. An unreliable connection has the
/// shortest WQEs.
queue_pair_attributes alike(const raw_ethernet_attributes& a) {
  return {.pd = a.pd,
          .send_cq = a.send_cq,
          .receive_cq = a.receive_cq,
          .service = qp_service::uc,
          .sends = a.sends,
          .receives = a.receives,
          .gather = a.gather,
          .scatter = a.scatter,
          .inline_bytes = a.inline_bytes,
          .cookie = a.cookie};
}

}  // namespace

status raw_ethernet_queue_pair::plan(verbs& in, const attributes& a, creation<creating>& to) {
  const capabilities& can = in.adapter().capabilities();
  const auto log_large = static_cast<unsigned>(can.raw.get<&query_dev_cap::log_max_gso_sz>());
  const bool large = log_large != 0 && can.has(dev_cap_flag::big_lso_header);
  if ((a.header_bytes != 0 && !large) ||
      (a.keep_check_sequence && !can.has(dev_cap_flag::fcs_keep)))
    return driver_error::unsupported;
  FREEHCA_TRY(queue_pair::plan(in, alike(a), to));
  own_ = {.code = qp_service::mlx,
          .header_bytes = queues::rdma_header_bytes,
          .most_message_bytes = large ? 1u << log_large : most_frame_bytes,
          .opcodes = queues::opcodes_of_frames(a.header_bytes != 0),
          .to = {},
          .path = &write_raw_ethernet};
  service = &own_;
  keeps_tags = a.keep_tags;
  keeps_check_sequence = a.keep_check_sequence;
  if (a.header_bytes == 0) return {};
  // The entries become longer. Longer entries are never more entries, so the slots suffice.
  const std::size_t longest = wqe_ctrl::bytes + queues::segment_bytes({.length = a.header_bytes}) +
                              std::size_t{a.gather} * wqe_data::bytes;
  FREEHCA_TRY(in.refused().check(attribute_id::send_wqe_bytes, longest,
                                 can.most_qp_wqe_bytes_sq < queues::most_wqe_bytes
                                     ? can.most_qp_wqe_bytes_sq
                                     : queues::most_wqe_bytes));
  send_shape =
      queues::sq_shape_for(a.sends, a.gather, a.inline_bytes, own_.header_bytes, longest).value();
  ring.bytes = send_shape.bytes() + receive_shape.bytes();
  return {};
}

status raw_ethernet_queue_pair::build(verbs& in, const attributes& a, creation<creating>& to) {
  return queue_pair::build(in, alike(a), to);
}

namespace {

status write_no_vector(verbs& in, const roce_path&, bool, image<address_vector>&) {
  return in.refused().refuse(attribute_id::dmac, 0, 0);
}

status write_raw_context(verbs& in, const roce_path& path, bool, image<address_path>& to) {
  using l = address_path;
  const bool forced = path.priority != raw_ethernet_path::of_the_request;
  if (forced) FREEHCA_TRY(in.refused().check(attribute_id::priority, path.priority, 7));
  to.set<&l::link_type>(path_link::ethernet)
      .set<&l::feup>(forced)
      .set<&l::sched_queue>(sched_queue_ethernet(path.port, forced ? path.priority : 0u));
  return {};
}

std::uint32_t write_raw_transition(verbs& in, const roce_path&, qp_state to, bool,
                                   std::uint32_t number, image<qpc>& context) {
  if (context.get<&qpc::service>() != qp_service::mlx) return 0;
  // Linux 6.1 hw/mlx4/qp.c MLX4_RAW_QP_MTU, MLX4_RAW_QP_MSGMAX: the port limits frames.
  if (to == qp_state::rtr) context.set<&qpc::mtu>(ib_mtu::raw_ethernet).set<&qpc::msg_max>(31);
  const queues::qp_rings* const rings = in.queue_pairs().find(number);
  if (to != qp_state::init || rings == nullptr) return 0;
  const auto& object = *static_cast<const queue_object*>(rings->owner);
  if (object.what->identity != &identity_of<raw_ethernet_queue_pair>) return 0;
  const auto& pair = static_cast<const raw_ethernet_queue_pair&>(object);
  context.set<&qpc::vsd>(pair.keeps_tags).set<&qpc::scatter_fcs>(pair.keeps_check_sequence);
  context.set<&primary_path::link_type>(path_link::ethernet);
  return 0;
}

}  // namespace

const roce_functions write_raw_ethernet{&write_no_vector, &write_raw_context, &write_raw_transition,
                                        nullptr};

}  // namespace freehca
