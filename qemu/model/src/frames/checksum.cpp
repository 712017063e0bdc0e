// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/checksum.hpp"

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::uint16_t all_ones = 0xffff;

/// A ones' complement sum (RFC 1071), not inverted.
class ones_sum {
 public:
  /// Bytes that begin at an even place of what is summed.
  ones_sum& add(std::span<const std::byte> bytes) {
    std::size_t i = 0;
    for (; i + 2 <= bytes.size(); i += 2) sum_ += load_be<std::uint16_t>(bytes.data() + i);
    if (i < bytes.size()) sum_ += std::to_integer<std::uint64_t>(bytes[i]) << 8;
    return *this;
  }
  ones_sum& add(std::uint64_t word) {
    sum_ += word;
    return *this;
  }
  std::uint16_t folded() const {
    std::uint64_t s = sum_;
    while (s >> 16 != 0) s = (s & all_ones) + (s >> 16);
    return static_cast<std::uint16_t>(s);
  }

 private:
  std::uint64_t sum_ = 0;
};

std::span<const std::byte> between(std::span<const std::byte> frame, std::size_t from,
                                   std::size_t to) {
  return frame.subspan(from, to - from);
}

/// Addresses, length and protocol of what is behind the IP header (RFC 793, RFC 8200 section 8.1).
ones_sum pseudo_header(std::span<const std::byte> frame, const frame_headers& h) {
  ones_sum s;
  const bool four = h.ip == network_protocol::ipv4;
  const std::size_t from = four ? ipv4_header{}.source.offset : grh{}.sgid.offset;
  const std::size_t to = four ? std::size_t{ipv4_header::bytes} : std::size_t{grh::bytes};
  s.add(between(frame, h.network + from, h.network + to));
  return s.add(h.end - h.network - h.network_bytes).add(h.protocol);
}

ones_sum whole(std::span<const std::byte> frame, const frame_headers& h) {
  return pseudo_header(frame, h).add(between(frame, h.network + h.network_bytes, h.end));
}

bool ipv4_right(std::span<const std::byte> frame, const frame_headers& h) {
  return ones_sum().add(between(frame, h.network, h.network + h.network_bytes)).folded() ==
         all_ones;
}

/// Everything from the payload length on, but for that and the two bytes behind it: what Linux
/// takes out again (en_rx.c get_fixed_ipv6_csum).
std::uint16_t plain_ipv6(std::span<const std::byte> frame, const frame_headers& h) {
  return ones_sum().add(between(frame, h.network + grh{}.sgid.offset, h.end)).folded();
}

bool has_checksum(std::span<const std::byte> frame, const frame_headers& h) {
  if (h.ports != port_protocol::udp) return true;
  const auto udp = image<udp_header>::from_bytes(frame.data() + h.transport);
  return udp.get<&udp_header::checksum>() != 0;
}

void put(std::span<std::byte> frame, std::size_t at, std::uint16_t sum) {
  store_be(frame.data() + at, sum);
}

}  // namespace

receive_checks check(const frame_view& v, const frame_headers& h) {
  receive_checks c;
  if (h.ip == network_protocol::other) return c;
  c.ipv4 = h.ip == network_protocol::ipv4;
  c.ipv6 = !c.ipv4;
  c.options = h.options;
  c.fragment = c.ipv4 && h.fragment;
  if (c.ipv6 && h.fragment) c.ipv6_extensions = ipv6_extension_fragment;
  const bool whole_datagram = !h.fragment;
  c.tcp = whole_datagram && h.ports == port_protocol::tcp;
  c.udp = whole_datagram && h.ports == port_protocol::udp;
  c.ip_ok = c.ipv6 || ipv4_right(v.bytes, h);
  const bool l4 = c.tcp || c.udp;
  c.sum = c.ipv4 || l4 ? whole(v.bytes, h).folded() : plain_ipv6(v.bytes, h);
  c.l4_ok = l4 && has_checksum(v.bytes, h) && c.sum == all_ones;
  return c;
}

void put_ipv4_checksum(std::span<std::byte> frame, const frame_headers& h) {
  if (h.ip != network_protocol::ipv4) return;
  const std::size_t at = h.network + ipv4_header{}.checksum.offset + 2;
  put(frame, at, 0);
  const auto sum = ones_sum().add(between(frame, h.network, h.network + h.network_bytes)).folded();
  put(frame, at, static_cast<std::uint16_t>(~sum));
}

void put_l4_checksum(std::span<std::byte> frame, const frame_headers& h) {
  if (h.fragment || h.ports == port_protocol::none) return;
  const bool udp = h.ports == port_protocol::udp;
  // A UDP checksum stands in the low half of its word, TCP's in the upper one.
  const std::size_t at =
      h.transport + (udp ? udp_header{}.checksum.offset + 2 : tcp_header{}.checksum.offset);
  put(frame, at, 0);
  const auto sum = static_cast<std::uint16_t>(~whole(frame, h).folded());
  // 0 would mean that there is none (RFC 768).
  put(frame, at, udp && sum == 0 ? all_ones : sum);
}

}  // namespace freehca::model
