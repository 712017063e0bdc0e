// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Linux 6.1 fills the contexts in the same way (hw/mlx4/qp.c __mlx4_ib_modify_qp with
// IB_QPT_RAW_PACKET, fill_qp_rss_context; mlx4/en_resources.c mlx4_en_fill_qp_context).
#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>

#include <freehca/queues/frame_requests.hpp>

namespace freehca {

using namespace layouts;

namespace {

/// Most bytes of a request without large sends: more than any port takes (Linux 6.1 port.c
/// mlx4_SET_PORT_general, an MTU of 16 bits).
constexpr std::uint32_t most_frame_bytes = 0x10000;

}  // namespace

status raw_ethernet_queue_pair::plan(verbs& in, const attributes& a, creation<creating>&) {
  const capabilities& can = in.adapter().capabilities();
  const auto log_large = static_cast<unsigned>(can.raw.get<&query_dev_cap::log_max_gso_sz>());
  const bool large = log_large != 0 && can.has(dev_cap_flag::big_lso_header);
  if (a.shared || (a.header_bytes != 0 && !large) ||
      (a.keep_check_sequence && !can.has(dev_cap_flag::fcs_keep)))
    return driver_error::unsupported;
  own_ = {.code = qp_service::mlx,
          .header_bytes = queues::rdma_header_bytes,
          .most_message_bytes = large ? 1u << log_large : most_frame_bytes,
          .opcodes = queues::opcodes_of_frames(a.header_bytes != 0),
          .to = {},
          .path = &write_raw_ethernet};
  if (a.header_bytes != 0)
    own_.least_wqe_bytes = static_cast<std::uint32_t>(
        wqe_ctrl::bytes + queues::segment_bytes({.length = a.header_bytes}) +
        a.gather * wqe_data::bytes);
  keeps_tags = a.keep_tags;
  keeps_check_sequence = a.keep_check_sequence;
  return queue_pair::plan(in, a, &own_);
}

namespace {

status write_no_vector(verbs& in, const roce_path&, bool, image<address_vector>&) {
  return in.refused().refuse(attribute_id::link_layer, 0, 0);
}

status check_priority(verbs& in, const roce_path& path, bool, image<address_path>&) {
  if (path.priority == raw_ethernet_path::of_the_request) return {};
  return in.refused().check(attribute_id::priority, path.priority, 7);
}

std::uint32_t write_frame_context(verbs& in, const roce_path& path, qp_state to, bool,
                                  std::uint32_t number, image<qpc>& c) {
  const auto& pair = static_cast<const frame_queue_pair&>(
      *static_cast<const queue_object*>(in.queue_pairs().find(number)->owner));
  const bool forced = path.priority != raw_ethernet_path::of_the_request;
  c.set<&primary_path::link_type>(path_link::ethernet)
      .set<&primary_path::feup>(forced)
      .set<&primary_path::sched_queue>(
          sched_queue_ethernet(path.port, forced ? path.priority : 0u));
  // Linux 6.1 hw/mlx4/qp.c MLX4_RAW_QP_MTU, MLX4_RAW_QP_MSGMAX: the port limits frames.
  c.set<&qpc::mtu>(ib_mtu::raw_ethernet).set<&qpc::msg_max>(31);
  c.set<&qpc::vsd>(pair.keeps_tags).set<&qpc::scatter_fcs>(pair.keeps_check_sequence);
  // The parameters of RSS stand over the end of the path.
  if (to == qp_state::init && pair.rss != nullptr) {
    c.set<&qpc::rss>(true);
    __builtin_memcpy(c.data() + rss_context_offset, pair.rss->data(), rss_context::bytes);
  }
  return 0;
}

}  // namespace

const roce_functions write_raw_ethernet{&write_no_vector, &check_priority, &write_frame_context,
                                        nullptr};

}  // namespace freehca
