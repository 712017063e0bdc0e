// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/checksum.hpp"

#include <algorithm>
#include <array>

#include "frames/header_access.hpp"
#include "frames/pseudo_header.hpp"

namespace freehca::model {

using namespace layouts;

ones_sum& ones_sum::add(std::span<const std::byte> bytes) {
  // Words of 32 bits fold to the same sum, and four thousand million of them fit.
  constexpr std::size_t stride = sizeof(std::uint32_t);
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= stride; p += stride, left -= stride) sum_ += load_be<std::uint32_t>(p);
  if (left == 0) return *this;
  std::array<std::byte, stride> last{};
  std::copy_n(p, left, last.begin());
  sum_ += load_be<std::uint32_t>(last.data());
  return *this;
}

std::uint16_t ones_sum::folded() const {
  std::uint64_t sum = sum_;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

namespace {

/// What the checksum of TCP or UDP covers behind the pseudo header: where it ends; 0: nothing.
std::size_t l4_end(std::span<const std::byte> bytes, const frame_headers& h) {
  if (h.ports == port_protocol::none || h.fragment) return 0;
  if (h.ports == port_protocol::tcp) return h.end;
  const std::size_t length = header_at<udp_header>(bytes, h.transport).get<&udp_header::length>();
  return length < udp_header::bytes || length > h.end - h.transport ? 0 : h.transport + length;
}

/// Of all that the checksum covers, itself among it.
std::uint16_t l4_sum(std::span<const std::byte> bytes, const frame_headers& h, std::size_t end) {
  ones_sum sum;
  add_pseudo_header(sum, bytes, h, end - h.transport);
  return sum.add(bytes.subspan(h.transport, end - h.transport)).folded();
}

std::uint16_t inverted(std::uint16_t sum) {
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

bool ipv4_header_right(std::span<const std::byte> bytes, const frame_headers& h) {
  return h.ip == network_protocol::ipv4 &&
         ones_sum().add(bytes.subspan(h.network, h.network_bytes)).folded() == ones_sum_right;
}

bool l4_checksum_right(std::span<const std::byte> bytes, const frame_headers& h) {
  const std::size_t end = l4_end(bytes, h);
  if (end == 0) return false;
  if (h.ports == port_protocol::udp &&
      header_at<udp_header>(bytes, h.transport).get<&udp_header::checksum>() == 0)
    return false;
  return l4_sum(bytes, h, end) == ones_sum_right;
}

void put_ipv4_checksum(std::span<std::byte> bytes, const frame_headers& h) {
  if (h.ip != network_protocol::ipv4) return;
  change_header<ipv4_header>(bytes, h.network,
                             [](image<ipv4_header>& ip) { ip.set<&ipv4_header::checksum>(0); });
  const auto sum = ones_sum().add(bytes.subspan(h.network, h.network_bytes)).folded();
  change_header<ipv4_header>(bytes, h.network, [sum](image<ipv4_header>& ip) {
    ip.set<&ipv4_header::checksum>(inverted(sum));
  });
}

void put_l4_checksum(std::span<std::byte> bytes, const frame_headers& h) {
  const std::size_t end = l4_end(bytes, h);
  if (end == 0) return;
  const auto put = [&](std::uint16_t value) {
    if (h.ports == port_protocol::tcp)
      change_header<tcp_header>(bytes, h.transport, [value](image<tcp_header>& tcp) {
        tcp.set<&tcp_header::checksum>(value);
      });
    else
      change_header<udp_header>(bytes, h.transport, [value](image<udp_header>& udp) {
        udp.set<&udp_header::checksum>(value);
      });
  };
  put(0);
  const std::uint16_t checksum = inverted(l4_sum(bytes, h, end));
  // In UDP 0 says that there is no checksum (RFC 768).
  put(checksum == 0 && h.ports == port_protocol::udp ? ones_sum_right : checksum);
}

void put_checksums(std::span<std::byte> bytes, std::uint16_t vxlan_port,
                   const checksum_requests& requests) {
  const auto view = frame_view::of(bytes, vxlan_port);
  if (!view) return;
  if (view->inner && requests.inner_l4) put_l4_checksum(bytes, *view->inner);
  if (view->inner && requests.inner_ip) put_ipv4_checksum(bytes, *view->inner);
  if (requests.l4) put_l4_checksum(bytes, view->outer);
  if (requests.ip) put_ipv4_checksum(bytes, view->outer);
}

}  // namespace freehca::model
