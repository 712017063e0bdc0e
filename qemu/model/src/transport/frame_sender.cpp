// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/frame_sender.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "frames/checksum.hpp"
#include "frames/segmentation.hpp"
#include "frames/tags.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using control_segment = image<wqe_ctrl_ethernet>;

/// With `feup` the queue pair's priority stands in the tag, whatever the request says (Linux
/// en_resources.c mlx4_en_fill_qp_context: "force user priority per tx ring"). A tag that came with
/// the frame's data stays as it is: no source, chosen.
void put_tag(const queue_pair& qp, const control_segment& c, frame& f) {
  const bool service = c.get<&wqe_ctrl_ethernet::ins_svlan>();
  if (!service && !c.get<&wqe_ctrl_ethernet::ins_cvlan>()) return;
  image<vlan_tag> tag;
  store_be(tag.data(), service ? ethertype::service_vlan : ethertype::vlan);
  store_be(tag.data() + 2, static_cast<std::uint16_t>(c.get<&wqe_ctrl_ethernet::vlan_tag>()));
  if (qp.context.get<&primary_path::feup>()) tag.set<&vlan_tag::priority>(qp.way.queue_priority);
  insert_tag(f, tag);
}

checksum_requests asked_by(const control_segment& c) {
  return {.ip = c.get<&wqe_ctrl_ethernet::ip_csum>(),
          .l4 = c.get<&wqe_ctrl_ethernet::l4_csum>(),
          .inner_ip = c.get<&wqe_ctrl_ethernet::inner_ip_csum>(),
          .inner_l4 = c.get<&wqe_ctrl_ethernet::inner_l4_csum>()};
}

/// Only what has an inner header says so: a datagram to the port of VXLAN may be anything.
std::uint16_t tunnel_of(const checksum_requests& asked, const hca_profile& p) {
  return asked.inner_ip || asked.inner_l4 ? p.vxlan_port : std::uint16_t{0};
}

/// Does the control segment have the destination of the frame? mlx4_en leaves those words as an
/// earlier request wrote them, unless it wants loops (Linux 6.1 en_tx.c mlx4_en_xmit): they are no
/// destination then, and a port that takes every frame would get all that it sends.
bool has_destination_of(const control_segment& c, const frame& f) {
  if (f.bytes.size() < ethernet_address_numbers::bytes) return false;
  const auto addresses = image<ethernet_address_numbers>::from_bytes(f.bytes.data());
  return addresses.get<&ethernet_address_numbers::destination>() ==
         (c.get<&wqe_ctrl_ethernet::dmac_47_32>() << 32 | c.get<&wqe_ctrl_ethernet::dmac_31_0>());
}

}  // namespace

ethernet_port& frame_sender::port_of(const queue_pair& qp) const {
  return *links_.ethernet(links_.physical(qp.way).port);
}

std::optional<failure> frame_sender::read(const queue_pair& qp, const send_request& r,
                                          std::uint64_t from, std::span<std::byte> to) const {
  if (to.empty() ||
      r.data.gather(regions_, qp.owner, from, to.data(), to.size()) == access_result::ok)
    return std::nullopt;
  rules_.because("bytes %llu to %llu of the frame cannot be read under their keys",
                 static_cast<unsigned long long>(from),
                 static_cast<unsigned long long>(from + to.size() - 1));
  return failures::local_protection;
}

std::optional<failure> frame_sender::make_frame(const queue_pair& qp, const send_request& r,
                                                frame& f) const {
  // One byte more than the port takes is enough for it to drop the frame.
  const std::size_t most = port_of(qp).frame_bytes_most() + 1;
  f.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(r.data.size(), most)));
  return read(qp, r, 0, f.bytes);
}

std::optional<failure> frame_sender::make_segment(const queue_pair& qp, const send_request& r,
                                                  frame& f) const {
  const auto cut = segmentation::of(r.large->header, static_cast<std::size_t>(r.data.size()),
                                    r.large->mss, tunnel_of(asked_by(r.ethernet()), profile_));
  if (!cut) {
    rules_.because("an LSO header of %zu bytes and mss %u; wanted: TCP or UDP over IP to its end",
                   r.large->header.size(), unsigned{r.large->mss});
    return failures::local_qp_operation;
  }
  const segmentation::piece piece = cut->payload_of(r.next_packet);
  std::vector<std::byte> payload(piece.bytes);
  if (const auto wrong = read(qp, r, piece.offset, payload)) return wrong;
  f = cut->segment(r.next_packet, payload);
  return std::nullopt;
}

std::optional<failure> frame_sender::send(const queue_pair& qp, const send_request& r) {
  account_.charge(work_account::packet);
  frame f;
  if (const auto wrong = r.large != nullptr ? make_segment(qp, r, f) : make_frame(qp, r, f))
    return wrong;
  const control_segment control = r.ethernet();
  const checksum_requests asked = asked_by(control);
  account_.charge_check(f.bytes.size());
  put_checksums(f.bytes, tunnel_of(asked, profile_), asked);
  put_tag(qp, control, f);
  deliver(qp, r, std::move(f));
  return std::nullopt;
}

/// Where the control segment has its destination, the frame also goes to those of the port's own
/// queue pairs that steering finds for it.
void frame_sender::deliver(const queue_pair& qp, const send_request& r, frame f) const {
  ethernet_port& port = port_of(qp);
  const control_segment control = r.ethernet();
  const auto counter = static_cast<std::uint8_t>(qp.context.get<&primary_path::counter_index>());
  links_.counters_by_index().sent(counter, std::max(f.bytes.size(), frame_bytes_least) + fcs_bytes);
  const bool looped = control.get<&wqe_ctrl_ethernet::force_loopback>();
  if (looped || has_destination_of(control, f)) {
    frame copy = f;
    copy.looped_from = frame::sender{qp.number(), counter};
    port.loop_back(std::move(copy));
  }
  f.priority = qp.way.queue_priority;
  if (!looped) port.transmit(std::move(f));
}

}  // namespace freehca::model
