// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/receive_hash.hpp"

#include <algorithm>
#include <array>

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

/// Addresses and ports, in the order in which they are hashed.
struct hash_input {
  std::array<std::byte, 36> bytes{};
  std::size_t size = 0;

  void add(std::span<const std::byte> more) {
    std::ranges::copy(more, bytes.begin() + static_cast<std::ptrdiff_t>(size));
    size += more.size();
  }
};

/// For each bit of the input that is set, from the most significant one of the first byte on, 32
/// bits of the key from that place on.
std::uint32_t toeplitz(const hash_input& in, std::span<const std::byte, 40> key) {
  std::uint32_t hash = 0;
  std::uint64_t window = load_be<std::uint64_t>(key.data());
  for (std::size_t i = 0; i < in.size; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((std::to_integer<unsigned>(in.bytes[i]) << bit & 0x80) != 0)
        hash ^= static_cast<std::uint32_t>(window >> 32);
      window <<= 1;
    }
    if (i + 8 < key.size()) window |= std::to_integer<std::uint64_t>(key[i + 8]);
  }
  return hash;
}

/// No source for what is taken together: chosen, words of 32 bits.
std::uint32_t exclusive_or(const hash_input& in) {
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < in.size; i += 4) hash ^= load_be<std::uint32_t>(in.bytes.data() + i);
  return hash;
}

}  // namespace

std::optional<frame_hash> hash_of(const frame_view& v, const frame_headers& h,
                                  const hash_choice& how) {
  if (h.ip == network_protocol::other || (h.fragment && !how.fragments)) return std::nullopt;
  const bool four = h.ip == network_protocol::ipv4;
  const bool tcp = h.ports == port_protocol::tcp && (four ? how.tcp_ipv4 : how.tcp_ipv6);
  const bool udp = h.ports == port_protocol::udp && (four ? how.udp_ipv4 : how.udp_ipv6);
  const bool ports = (tcp || udp) && !h.fragment;
  if (!ports && !(four ? how.ipv4 : how.ipv6)) return std::nullopt;
  hash_input in;
  const std::size_t from = four ? ipv4_header{}.source.offset : grh{}.sgid.offset;
  in.add(v.bytes.subspan(h.network + from, four ? 8 : 32));
  if (ports) in.add(v.bytes.subspan(h.transport, 4));
  return frame_hash{how.exclusive_or ? exclusive_or(in) : toeplitz(in, how.key), ports && udp};
}

}  // namespace freehca::model
