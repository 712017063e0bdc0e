// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/receive_checks.hpp"

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/headers.hpp>

#include "frames/checksum.hpp"
#include "frames/pseudo_header.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

std::uint16_t with_pseudo_header(std::span<const std::byte> bytes, const frame_headers& h) {
  const auto data = bytes.first(h.end).subspan(h.network + h.network_bytes);
  ones_sum sum;
  add_pseudo_header(sum, bytes, h, data.size());
  return sum.add(data).folded();
}

/// From the payload length on, without next header and hop limit: en_rx.c get_fixed_ipv6_csum adds
/// those and the first word.
std::uint16_t plain_of_ipv6(std::span<const std::byte> bytes, const frame_headers& h) {
  const auto data = bytes.first(h.end).subspan(h.network + grh::bytes);
  return ones_sum()
      .add(ip_addresses(bytes, h))
      .add(static_cast<std::uint32_t>(data.size()))
      .add(data)
      .folded();
}

}  // namespace

receive_checks check(const frame_view& frame, const frame_headers& h) {
  receive_checks c;
  if (h.ip == network_protocol::other) return c;
  c.ipv4 = h.ip == network_protocol::ipv4;
  c.ipv6 = h.ip == network_protocol::ipv6;
  c.options = h.options;
  c.fragment = c.ipv4 && h.fragment;
  if (c.ipv6 && h.fragment) c.ipv6_extensions = ipv6_extension_fragment;
  c.tcp = h.ports == port_protocol::tcp && !h.fragment;
  c.udp = h.ports == port_protocol::udp && !h.fragment;
  c.ip_ok = c.ipv6 || ipv4_header_right(frame.bytes, h);
  c.l4_ok = l4_checksum_right(frame.bytes, h);
  c.sum =
      c.ipv4 || c.tcp || c.udp ? with_pseudo_header(frame.bytes, h) : plain_of_ipv6(frame.bytes, h);
  return c;
}

void put(const receive_checks& c, image<cqe>& e) {
  e.set<&cqe::ipv4>(c.ipv4)
      .set<&cqe::ipv6>(c.ipv6)
      .set<&cqe::ipv4_options>(c.options)
      .set<&cqe::ipv4_fragment>(c.fragment)
      .set<&cqe::ipv6_extensions>(c.ipv6_extensions)
      .set<&cqe::tcp>(c.tcp)
      .set<&cqe::udp>(c.udp)
      .set<&cqe::ip_ok>(c.ip_ok)
      .set<&cqe::l4_csum_ok>(c.l4_ok)
      .set<&cqe::checksum>(c.sum);
}

}  // namespace freehca::model
