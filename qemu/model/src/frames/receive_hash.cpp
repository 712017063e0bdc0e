// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/receive_hash.hpp"

#include <algorithm>
#include <array>

#include "frames/pseudo_header.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// Values of rss_context's inner_headers; 1 is none of them and counts as 0: no source, chosen.
enum class rss_headers : std::uint8_t { outer = 0, inner = 2, inner_addresses = 3 };

/// What of the headers goes into the hash.
enum class hash_input : std::uint8_t { none, addresses, addresses_and_ports };

struct hash_flags {
  bool addresses, tcp, udp;
};

hash_flags flags_for(network_protocol ip, const image<rss_context>& c) {
  if (ip == network_protocol::ipv4)
    return {c.get<&rss_context::ipv4>(), c.get<&rss_context::tcp_ipv4>(),
            c.get<&rss_context::udp_ipv4>()};
  if (ip == network_protocol::ipv6)
    return {c.get<&rss_context::ipv6>(), c.get<&rss_context::tcp_ipv6>(),
            c.get<&rss_context::udp_ipv6>()};
  return {false, false, false};
}

hash_input input_of(const frame_headers& h, const hash_flags& flags, bool fragments,
                    bool ports_wanted) {
  const hash_input addresses = flags.addresses ? hash_input::addresses : hash_input::none;
  if (h.fragment) return fragments ? addresses : hash_input::none;
  const bool ports_count =
      (h.ports == port_protocol::tcp && flags.tcp) || (h.ports == port_protocol::udp && flags.udp);
  return ports_count && ports_wanted ? hash_input::addresses_and_ports : addresses;
}

/// Both ports of TCP or UDP as they stand in the frame.
std::span<const std::byte> ports_in(std::span<const std::byte> bytes, const frame_headers& h) {
  static_assert(tcp_header{}.source_port.offset == 0 && udp_header{}.source_port.offset == 0);
  static_assert(tcp_header{}.destination_port.lo == 0 && udp_header{}.destination_port.lo == 0);
  return bytes.subspan(h.transport, udp_header{}.source_port.size());
}

}  // namespace

receive_hash receive_hash_of(const frame_view& frame, const image<rss_context>& context,
                             bool fragments) {
  const auto which = static_cast<rss_headers>(context.get<&rss_context::inner_headers>());
  const bool inner = which == rss_headers::inner || which == rss_headers::inner_addresses;
  const frame_headers& h = inner && frame.inner ? *frame.inner : frame.outer;
  const bool ports_wanted = !(frame.inner && which == rss_headers::inner_addresses);
  const hash_input wanted = input_of(h, flags_for(h.ip, context), fragments, ports_wanted);
  if (wanted == hash_input::none) return {};

  std::array<std::byte, receive_hash_input_most> buffer;
  const auto addresses = ip_addresses(frame.bytes, h);
  auto end = std::copy(addresses.begin(), addresses.end(), buffer.begin());
  if (wanted == hash_input::addresses_and_ports) {
    const auto ports = ports_in(frame.bytes, h);
    end = std::copy(ports.begin(), ports.end(), end);
  }
  const std::span<const std::byte> input(buffer.begin(), end);
  const std::span<const std::byte, receive_hash_key_bytes> key(
      context.bytes_of<&rss_context::key>(), receive_hash_key_bytes);
  return {context.get<&rss_context::hash>() == rss_hash::toeplitz ? toeplitz_hash(key, input)
                                                                  : exclusive_or_hash(input),
          true, wanted == hash_input::addresses_and_ports && h.ports == port_protocol::udp};
}

std::uint32_t toeplitz_hash(std::span<const std::byte, receive_hash_key_bytes> key,
                            std::span<const std::byte> input) {
  std::uint32_t hash = 0;
  std::uint32_t window = load_be<std::uint32_t>(key.data());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(input[i]);
    const auto next = std::to_integer<unsigned>(key[i + sizeof window]);
    for (unsigned bit = 8; bit-- > 0;) {
      if ((byte >> bit & 1) != 0) hash ^= window;
      window = window << 1 | (next >> bit & 1);
    }
  }
  return hash;
}

std::uint32_t exclusive_or_hash(std::span<const std::byte> input) {
  std::uint32_t hash = 0;
  for (std::size_t at = 0; at < input.size(); at += sizeof hash)
    hash ^= load_be<std::uint32_t>(input.data() + at);
  return hash;
}

}  // namespace freehca::model
