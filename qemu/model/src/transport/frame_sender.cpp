// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/frame_sender.hpp"

#include <algorithm>
#include <utility>

#include "frames/checksum.hpp"
#include "frames/segmentation.hpp"
#include "frames/tags.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using control_segment = image<wqe_ctrl_ethernet>;

void put_tag(const control_segment& c, frame& f) {
  const bool service = c.get<&wqe_ctrl_ethernet::ins_svlan>();
  if (!service && !c.get<&wqe_ctrl_ethernet::ins_cvlan>()) return;
  insert_tag(f, service ? ethertype::service_vlan : ethertype::vlan,
             static_cast<std::uint16_t>(c.get<&wqe_ctrl_ethernet::vlan_tag>()));
}

/// With a tunnel, `ip_csum` is the outer header's, and the two of their own are of what is inside.
void put_checksums(const control_segment& c, frame& f, std::uint16_t vxlan_port) {
  const bool ip = c.get<&wqe_ctrl_ethernet::ip_csum>(), l4 = c.get<&wqe_ctrl_ethernet::l4_csum>(),
             inner_ip = c.get<&wqe_ctrl_ethernet::inner_ip_csum>(),
             inner_l4 = c.get<&wqe_ctrl_ethernet::inner_l4_csum>();
  if (!ip && !l4 && !inner_ip && !inner_l4) return;
  const auto v = frame_view::of(f.bytes, vxlan_port);
  if (!v) return;
  if (v->inner && inner_ip) put_ipv4_checksum(f.bytes, *v->inner);
  if (v->inner && inner_l4) put_l4_checksum(f.bytes, *v->inner);
  if (ip) put_ipv4_checksum(f.bytes, v->outer);
  if (l4) put_l4_checksum(f.bytes, v->outer);
}

std::uint64_t destination_of(const control_segment& c) {
  return c.get<&wqe_ctrl_ethernet::dmac_47_32>() << 32 | c.get<&wqe_ctrl_ethernet::dmac_31_0>();
}

}  // namespace

std::uint32_t frame_sender::frames_of(const send_request& r) {
  const std::uint64_t n = (r.data.size() + r.large->mss - 1) / r.large->mss;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, n));
}

std::optional<frame> frame_sender::gather(const queue_pair& qp, const send_request& r,
                                          const ethernet_port& port) const {
  // One byte more than the port takes is enough for it to drop the frame.
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(r.data.size(), port.frame_bytes_most() + 1));
  frame f;
  f.bytes.resize(bytes);
  if (bytes != 0 &&
      r.data.gather(*a_.regions, qp.owner, 0, f.bytes.data(), bytes) != access_result::ok)
    return std::nullopt;
  return f;
}

std::optional<frame> frame_sender::gather_large(const queue_pair& qp, const send_request& r) const {
  const large_send& large = *r.large;
  const std::uint64_t from = std::uint64_t{r.next_packet} * large.mss;
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(large.mss, r.data.size() - from));
  frame f;
  f.bytes.resize(large.header.size() + bytes);
  std::copy(large.header.begin(), large.header.end(), f.bytes.begin());
  if (bytes != 0 && r.data.gather(*a_.regions, qp.owner, from, f.bytes.data() + large.header.size(),
                                  bytes) != access_result::ok)
    return std::nullopt;
  make_segment(
      f, {.index = r.next_packet, .last = r.next_packet + 1 == r.psns, .payload_before = from},
      a_.profile.vxlan_port);
  return f;
}

std::optional<failure> frame_sender::send(queue_pair& qp, const send_request& r) {
  ethernet_port& port = *a_.links->ethernet(qp.way.port);
  std::optional<frame> f = r.large != nullptr ? gather_large(qp, r) : gather(qp, r, port);
  if (!f) {
    a_.rules.because("the bytes of the frame cannot be read under their keys");
    return failures::local_protection;
  }
  const control_segment control = r.ethernet();
  put_checksums(control, *f, a_.profile.vxlan_port);
  put_tag(control, *f);
  a_.account.charge(work_account::packet);
  deliver(qp, r, port, std::move(*f));
  return std::nullopt;
}

/// Where the control segment has the destination, the frame also goes to those of the port's own
/// queue pairs that steering finds for it.
void frame_sender::deliver(const queue_pair& qp, const send_request& r, ethernet_port& port,
                           frame f) const {
  const control_segment control = r.ethernet();
  const auto counter = static_cast<std::uint8_t>(qp.context.get<&primary_path::counter_index>());
  a_.links->counters_by_index().sent(counter,
                                     std::max(f.bytes.size(), frame_bytes_least) + fcs_bytes);
  const bool looped = control.get<&wqe_ctrl_ethernet::force_loopback>();
  if (looped || destination_of(control) != 0) {
    frame copy = f;
    copy.looped_from = counter;
    port.loop_back(std::move(copy));
  }
  if (!looped) port.transmit(std::move(f));
}

}  // namespace freehca::model
