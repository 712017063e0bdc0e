// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/segmentation.hpp"

#include <algorithm>

#include <freehca/layouts/headers.hpp>

#include "frames/header_access.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// What the length field of an IP header says of a frame of so many bytes.
std::size_t stated_length(const frame_headers& h, std::size_t frame_bytes) {
  return frame_bytes - h.network - (h.ip == network_protocol::ipv6 ? grh::bytes : 0);
}

bool can_be_cut(const frame_headers& h, std::size_t most_bytes) {
  constexpr std::size_t length_most = ipv4_header{}.total_length.mask();
  return h.ports != port_protocol::none && !h.fragment &&
         stated_length(h, most_bytes) <= length_most;
}

/// Of fields of 16 and 32 bits, which wrap.
template <class Word>
Word advanced(std::uint64_t value, std::size_t by) {
  return static_cast<Word>(value + by);
}

}  // namespace

std::optional<segmentation> segmentation::of(std::vector<std::byte> header,
                                             std::size_t payload_bytes, std::size_t mss,
                                             std::uint16_t vxlan_port) {
  const auto view = frame_view::of_message_header(header, vxlan_port);
  if (!view || mss == 0) return std::nullopt;
  const std::size_t most_bytes = header.size() + std::min(mss, payload_bytes);
  if (!can_be_cut(view->outer, most_bytes)) return std::nullopt;
  const bool tunnel = view->outer.ports == port_protocol::udp && vxlan_port != 0 &&
                      view->outer.destination_port == vxlan_port;
  if (tunnel && !(view->inner && can_be_cut(*view->inner, most_bytes))) return std::nullopt;
  return segmentation(std::move(header), payload_bytes, mss, *view);
}

std::optional<segmentation> segmentation::of_ipoib(std::vector<std::byte> header,
                                                   std::size_t payload_bytes, std::size_t mss) {
  const auto view = frame_view::of_ipoib_message_header(header);
  if (!view || mss == 0 || !can_be_cut(view->outer, header.size() + std::min(mss, payload_bytes)))
    return std::nullopt;
  return segmentation(std::move(header), payload_bytes, mss, *view);
}

segmentation::segmentation(std::vector<std::byte> header, std::size_t payload_bytes,
                           std::size_t mss, const frame_view& view)
    : header_(std::move(header)),
      payload_bytes_(payload_bytes),
      mss_(mss),
      outer_(view.outer),
      inner_(view.inner) {}

std::size_t segmentation::frames() const {
  return payload_bytes_ == 0 ? 1 : (payload_bytes_ - 1) / mss_ + 1;
}

segmentation::piece segmentation::payload_of(std::size_t n) const {
  const std::size_t offset = n * mss_;
  return {offset, std::min(mss_, payload_bytes_ - offset)};
}

frame segmentation::segment(std::size_t n, std::span<const std::byte> payload) const {
  frame f;
  f.bytes.reserve(header_.size() + payload.size());
  f.bytes = header_;
  f.bytes.insert(f.bytes.end(), payload.begin(), payload.end());
  change_headers(f, outer_, n);
  if (inner_) change_headers(f, *inner_, n);
  return f;
}

void segmentation::change_headers(frame& f, const frame_headers& h, std::size_t n) const {
  change_ip(f, h, n);
  if (h.ports == port_protocol::tcp) change_tcp(f, h, n);
  else
    change_header<udp_header>(f.bytes, h.transport, [&](image<udp_header>& udp) {
      udp.set<&udp_header::length>(f.bytes.size() - h.transport);
    });
}

void segmentation::change_ip(frame& f, const frame_headers& h, std::size_t n) const {
  const std::size_t length = stated_length(h, f.bytes.size());
  if (h.ip == network_protocol::ipv6)
    change_header<grh>(f.bytes, h.network,
                       [length](image<grh>& ip) { ip.set<&grh::payload_length>(length); });
  else
    change_header<ipv4_header>(f.bytes, h.network, [length, n](image<ipv4_header>& ip) {
      const auto first = ip.get<&ipv4_header::identification>();
      ip.set<&ipv4_header::total_length>(length);
      ip.set<&ipv4_header::identification>(advanced<std::uint16_t>(first, n));
    });
}

void segmentation::change_tcp(frame& f, const frame_headers& h, std::size_t n) const {
  change_header<tcp_header>(f.bytes, h.transport, [&](image<tcp_header>& tcp) {
    const auto first = tcp.get<&tcp_header::sequence>();
    tcp.set<&tcp_header::sequence>(advanced<std::uint32_t>(first, payload_of(n).offset));
    if (n != 0) tcp.set<&tcp_header::cwr>(false);
    if (!last(n)) tcp.set<&tcp_header::fin>(false).set<&tcp_header::psh>(false);
  });
}

}  // namespace freehca::model
