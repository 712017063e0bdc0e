// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "unreachable_packet.hpp"

#include <array>
#include <cstdio>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/headers.hpp>
#include <freehca/packets/mad_packet.hpp>

#include "explanation.hpp"

namespace freehca::ibverbs {

using namespace layouts;

namespace {

constexpr std::uint16_t first_multicast_lid = 0xc000;
using sender_text = std::array<char, 40>;

/// ", sent by QP 0x000040," of a datagram whose BTH begins at `at`. Empty for other packets.
sender_text sender_of(std::span<const std::byte> packet, std::size_t at) {
  sender_text to{};
  if (packet.size() < at + bth::bytes + deth::bytes) return to;
  const auto opcode = image<bth>::from_bytes(packet.data() + at).get<&bth::opcode>();
  if (opcode != bth_opcode::ud_send_only && opcode != bth_opcode::ud_send_only_imm) return to;
  const auto extended = image<deth>::from_bytes(packet.data() + at + bth::bytes);
  std::snprintf(to.data(), to.size(), ", sent by QP 0x%06x,",
                static_cast<unsigned>(extended.get<&deth::source_qp>()));
  return to;
}

/// Where the BTH of a packet of RoCE begins. 0: the frame is none.
std::size_t bth_of_frame(std::span<const std::byte> frame) {
  constexpr std::size_t addresses = 12, ipv4_bytes = 20, udp_bytes = 8;
  std::size_t at = addresses;
  const auto take_type = [&] {
    const auto found = load_be<std::uint16_t>(frame.data() + at);
    at += sizeof found;
    return found;
  };
  std::uint16_t type = take_type();
  if (type == ethertype::vlan && frame.size() >= at + 4) {
    at += sizeof(std::uint16_t);
    type = take_type();
  }
  if (type == ethertype::roce_v1) return at + grh::bytes;
  if (type == ethertype::ipv6) return at + grh::bytes + udp_bytes;
  return type == ethertype::ipv4 ? at + ipv4_bytes + udp_bytes : 0;
}

void explain_frame(std::span<const std::byte> frame) {
  const auto byte = [&frame](std::size_t i) { return std::to_integer<unsigned>(frame[i]); };
  if ((byte(0) & 1) != 0) return;
  const std::size_t at = bth_of_frame(frame);
  const sender_text sender = at != 0 ? sender_of(frame, at) : sender_text{};
  std::array<char, 200> text;
  std::snprintf(
      text.data(), text.size(),
      "port 1: a frame to MAC %02x:%02x:%02x:%02x:%02x:%02x%s was dropped: no port of the "
      "fabric has this address",
      byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), sender.data());
  explain_remark(text.data());
}

}  // namespace

void explain_unreachable(std::span<const std::byte> packet, bool is_frame) {
  if (is_frame) return explain_frame(packet);
  const auto found = packets::summarise(packet);
  if (!found || found->dlid >= first_multicast_lid) return;
  const sender_text sender = sender_of(packet, lrh::bytes + (found->global ? grh::bytes : 0));
  std::array<char, 200> text;
  std::snprintf(text.data(), text.size(),
                "port 1: a packet to LID 0x%04x%s was dropped: no port of the fabric has this LID",
                unsigned{found->dlid}, sender.data());
  explain_remark(text.data());
}

}  // namespace freehca::ibverbs
