// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/roce_wire.hpp"

#include <array>
#include <cstdio>
#include <cstring>

#include <freehca/packets/packet_crc.hpp>

#include "link/roce_headers.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// The headers from the network's to the BTH, as the ICRC counts them: ones where routers write
/// (rxe_icrc.c rxe_icrc_hdr; IBTA annexes A16, A17), and ones before them in place of the LRH.
class covered_headers {
 public:
  covered_headers(const std::byte* packet, const roce_headers& h) {
    std::memset(bytes_.data(), 0xff, lrh::bytes);
    if (h.form == roce_form::v2_ipv4) {
      auto ip = image<ipv4_header>::from_bytes(packet + h.network);
      add(ip.set<&ipv4_header::tos>(0xff).set<&ipv4_header::ttl>(0xff).set<&ipv4_header::checksum>(
          0xffff));
    } else {
      auto global = image<grh>::from_bytes(packet + h.network);
      add(global.set<&grh::traffic_class>(0xff).set<&grh::flow_label>(0xfffff).set<&grh::hop_limit>(
          0xff));
    }
    if (h.v2()) {
      auto udp = image<udp_header>::from_bytes(packet + h.udp);
      add(udp.set<&udp_header::checksum>(0xffff));
    }
    auto base = image<bth_variant>::from_bytes(packet + h.base);
    add(base.set<&bth_variant::resv8a>(0xff));
  }
  std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }

 private:
  template <class T>
  void add(const image<T>& header) {
    std::memcpy(bytes_.data() + used_, header.data(), T::bytes);
    used_ += T::bytes;
  }
  std::array<std::byte, lrh::bytes + grh::bytes + udp_header::bytes + bth::bytes> bytes_{};
  std::size_t used_ = lrh::bytes;
};

/// Of a packet from the destination MAC to the padding, which has a BTH and no IPv4 options.
std::uint32_t roce_crc(std::span<const std::byte> packet, const roce_headers& h) {
  return packets::invariant_crc(covered_headers(packet.data(), h).bytes(),
                                packet.subspan(h.base + bth::bytes));
}

std::array<std::byte, icrc_bytes> on_wire(std::uint32_t crc) {
  std::array<std::byte, icrc_bytes> bytes;
  for (unsigned i = 0; i < icrc_bytes; ++i)
    bytes[i] = static_cast<std::byte>(crc >> (8 * i) & 0xff);
  return bytes;
}

bool has_base_header(std::span<const std::byte> packet, const roce_headers& h) {
  return packet.size() >= h.base + bth::bytes;
}

}  // namespace

frame to_frame(const packet& p) {
  frame f;
  f.bytes.reserve(p.bytes.size() + icrc_bytes);
  f.bytes = p.bytes;
  const auto h = roce_headers::of(p.bytes);
  if (!h || !has_base_header(p.bytes, *h)) return f;
  const auto crc = on_wire(roce_crc(p.bytes, *h));
  f.bytes.insert(f.bytes.end(), crc.begin(), crc.end());
  return f;
}

bool is_roce_of(std::span<const std::byte> bytes, unsigned port, const roce_addresses& own) {
  const auto h = roce_headers::of(bytes);
  if (!h) return false;
  if (h->v2() && own.v2_udp_port(port) != h->udp_destination) return false;
  if (h->multicast()) return is_multicast_gid(h->dgid.data()) && own.speaks(port, h->version());
  return own.own_mac(port, h->destination) && own.own_gid(port, h->dgid.data(), h->version());
}

roce_arrival from_frame(std::span<const std::byte> bytes, packet& p, std::string& why) {
  const auto h = roce_headers::of(bytes);
  if (!h) {
    why = "no RoCE";
    return roce_arrival::malformed;
  }
  why = flaw_of(bytes, *h);
  if (why.empty() && h->end > bytes.size()) {
    std::array<char, 80> text;
    std::snprintf(text.data(), text.size(), "%zu bytes by the network header; %zu are there",
                  h->end - h->network, bytes.size() - h->network);
    why = text.data();
  }
  if (!why.empty()) return roce_arrival::malformed;
  const auto content = bytes.first(h->end - icrc_bytes);
  const auto crc = on_wire(roce_crc(content, *h));
  if (std::memcmp(bytes.data() + content.size(), crc.data(), icrc_bytes) != 0) {
    why = "wrong invariant CRC (IBTA 7.8.1)";
    return roce_arrival::bad_icrc;
  }
  p.bytes.assign(content.begin(), content.end());
  return roce_arrival::good;
}

bool is_roce_icrc_of(const packet& p, const std::byte* at) {
  const auto h = roce_headers::of(p.bytes);
  if (!h || !has_base_header(p.bytes, *h)) return false;
  return std::memcmp(at, on_wire(roce_crc(p.bytes, *h)).data(), icrc_bytes) == 0;
}

}  // namespace freehca::model
