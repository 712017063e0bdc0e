// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/segmentation.hpp"

#include <algorithm>

#include <freehca/layouts/headers.hpp>

#include "frames/frame_view.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

template <class T>
bool has(const frame& f, std::size_t at) {
  return at <= f.bytes.size() && f.bytes.size() - at >= T::bytes;
}
template <class T>
image<T> load(const frame& f, std::size_t at) {
  return image<T>::from_bytes(f.bytes.data() + at);
}
template <class T>
void store(frame& f, std::size_t at, const image<T>& header) {
  std::copy_n(header.data(), T::bytes, f.bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

/// The lengths of IP are those of the whole message, or 0 (Linux, above 64 KiB): nothing of what
/// follows can be found before they are right.
void put_length(frame& f, const frame_headers& h, std::uint32_t index) {
  if (h.ether_type == ethertype::ipv4 && has<ipv4_header>(f, h.network)) {
    auto ip = load<ipv4_header>(f, h.network);
    ip.set<&ipv4_header::total_length>((f.bytes.size() - h.network) & 0xffff)
        .set<&ipv4_header::identification>((ip.get<&ipv4_header::identification>() + index) &
                                           0xffff);
    store(f, h.network, ip);
  } else if (h.ether_type == ethertype::ipv6 && has<grh>(f, h.network)) {
    auto ip = load<grh>(f, h.network);
    ip.set<&grh::payload_length>((f.bytes.size() - h.network - grh::bytes) & 0xffff);
    store(f, h.network, ip);
  }
}

void put_tcp(frame& f, const frame_headers& h, const segment_place& place) {
  auto tcp = load<tcp_header>(f, h.transport);
  tcp.set<&tcp_header::sequence>((tcp.get<&tcp_header::sequence>() + place.payload_before) &
                                 0xffffffff);
  if (!place.last) tcp.set<&tcp_header::fin>(false).set<&tcp_header::psh>(false);
  if (place.index != 0) tcp.set<&tcp_header::cwr>(false);
  store(f, h.transport, tcp);
}

void put_udp(frame& f, const frame_headers& h) {
  auto udp = load<udp_header>(f, h.transport);
  udp.set<&udp_header::length>((f.bytes.size() - h.transport) & 0xffff);
  store(f, h.transport, udp);
}

}  // namespace

void make_segment(frame& f, const segment_place& place, std::uint16_t vxlan_port) {
  auto v = frame_view::of(f.bytes, vxlan_port);
  if (!v) return;
  put_length(f, v->outer, place.index);
  v = frame_view::of(f.bytes, vxlan_port);
  if (v->outer.ports == port_protocol::udp) {
    put_udp(f, v->outer);
    if (!v->inner) return;
    put_length(f, *v->inner, place.index);
    v = frame_view::of(f.bytes, vxlan_port);
  }
  const frame_headers& h = v->inner ? *v->inner : v->outer;
  if (h.ports == port_protocol::tcp) put_tcp(f, h, place);
}

}  // namespace freehca::model
