// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames that a station sends, and those that come by its cable.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include <freehca/packets/packet_crc.hpp>

#include "hostile_station.hpp"
#include "link/roce_wire.hpp"
#include "whole_frames.hpp"

namespace freehca::fuzz {

using layouts::image;
using layouts::wqe_unit;
using model::packet;
namespace frames = model::test::frames;

namespace {

constexpr std::size_t addresses = layouts::ethernet_addresses::bytes;
constexpr std::uint64_t second = 1'000'000'000;
/// A group, as RoCE v1 and v2 over IPv6 have it.
constexpr gid_bytes group_gid = {
    std::byte{0xff}, std::byte{0x0e}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
    std::byte{1}};
constexpr std::uint64_t group_mac = 0x3333'0000'0001;
/// Headers of large sends: up to where the payload begins.
struct large_header {
  const std::vector<std::byte>& frame;
  std::size_t bytes;
};
const large_header large_headers[] = {
    {frames::captured_tcp_syn, 62}, {frames::tcp_over_ipv6, 74},    {frames::tagged_twice, 66},
    {frames::vxlan_over_ipv4, 104}, {frames::vxlan_over_ipv6, 144}, {frames::captured_udp, 42},
    {frames::captured_tcp_ack, 54}, {frames::udp_over_ipv6, 62},
};

void put_mac(std::byte* to, std::uint64_t mac) {
  for (unsigned i = 0; i < 6; ++i) to[i] = static_cast<std::byte>(mac >> 8 * (5 - i) & 0xff);
}

}  // namespace

// Round the send queue's end, as its entries go.
void hostile_station::put_bytes(const test_qp& qp, std::size_t at, const std::byte* from,
                                std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    *driver->bytes_of(qp.ring, (at + i) % (test_qp::entries * test_qp::stride)) = from[i];
}

void hostile_station::send_frame() {
  using c = layouts::wqe_ctrl_ethernet;
  const std::uint8_t kind = script.byte(), shape = script.byte(), flags = script.byte();
  test_qp& qp = (kind & 2) == 0 ? pairs[kind % 2] : rings_[kind % 2];
  const auto& whole = frames::all_frames[shape % std::size(frames::all_frames)].bytes;
  std::vector<std::byte> frame(whole);
  const std::uint64_t to = (kind & 4) == 0 ? far_addresses::mac : own_mac_;
  image<c> control;
  control.set<&c::opcode>(layouts::wqe_opcode::send)
      .set<&c::no_icrc>((flags & 1) == 0)
      .set<&c::l4_csum>((flags & 2) != 0)
      .set<&c::ip_csum>((flags & 4) != 0)
      .set<&c::inner_l4_csum>((flags & 8) != 0)
      .set<&c::inner_ip_csum>((flags & 0x10) != 0)
      .set<&c::ins_cvlan>((flags & 0x20) != 0)
      .set<&c::ins_svlan>((flags & 0x40) != 0)
      .set<&c::force_loopback>((flags & 0x80) != 0);
  if ((flags & 0x60) != 0) control.set<&c::vlan_tag>(number() & 0xffff);
  if ((kind & 8) != 0) control.set<&c::dmac_47_32>(to >> 32).set<&c::dmac_31_0>(to & 0xffff'ffff);
  control.set<&c::cq_update>(layouts::wqe_completion::always);
  const std::size_t begin = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
  std::size_t at = begin + c::bytes;
  const std::uint64_t source = region_start + script.byte() * 4096u + shape;
  std::uint32_t payload = static_cast<std::uint32_t>(frame.size());
  const unsigned form = kind >> 4 & 3;
  if (form == 1) {
    // In pieces that end at the queue's boundaries of 64 bytes, or, for some, do not.
    put_mac(frame.data(), to);
    for (std::size_t done = 0; done < frame.size();) {
      const std::size_t room = 64 - at % 64 - layouts::wqe_inline::bytes;
      const std::size_t now = std::min(frame.size() - done, shape < 0xf0 ? room : frame.size());
      using w = layouts::wqe_inline;
      put_bytes(qp, at, image<w>{}.set<&w::inline_data>(true).set<&w::byte_count>(now).data(),
                w::bytes);
      put_bytes(qp, at + w::bytes, frame.data() + done, now);
      at = (at + w::bytes + now + wqe_unit - 1) / wqe_unit * wqe_unit;
      done += now;
    }
    payload = 0;
  } else if (form == 2) {
    using l = layouts::wqe_lso;
    const large_header& large = large_headers[shape % std::size(large_headers)];
    frame = large.frame;
    put_mac(frame.data(), to);
    const std::size_t header = shape < 0xe0 ? large.bytes : script.byte();
    frame.resize(std::max(frame.size(), header));
    control.set<&c::opcode>(layouts::wqe_opcode::lso);
    const std::uint32_t mss = shape < 0x80 ? 100 + script.byte() * 8u : number() & 0xffff;
    put_bytes(qp, at, image<l>{}.set<&l::mss>(mss).set<&l::header_size>(header).data(), l::bytes);
    put_bytes(qp, at + l::bytes, frame.data(), header);
    at = (at + l::bytes + header + wqe_unit - 1) / wqe_unit * wqe_unit;
    payload = script.byte() * 256u;
  } else {
    put_mac(frame.data(), to);
    damage(frame.data(), std::min<std::size_t>(frame.size(), 256), (kind & 0x80) == 0 ? 0 : 4);
    for (std::size_t i = 0; i < frame.size(); ++i) byte_at(source + i) = frame[i];
    if (form == 3) payload = script.byte() * 40u;
  }
  const std::uint32_t pieces = payload == 0 ? 0 : 1 + script.byte() % 5u;
  for (std::uint32_t i = 0, done = 0; i < pieces; ++i) {
    const std::uint32_t now = i + 1 == pieces ? payload - done : payload / pieces;
    put_bytes(qp, at, data_segment(source + done, now, key).data(), layouts::wqe_data::bytes);
    at += layouts::wqe_data::bytes;
    done += now;
  }
  control.set<&c::ds>((at - begin) / wqe_unit).set<&c::owner>((qp.sent & test_qp::entries) != 0);
  put_bytes(qp, begin, control.data(), c::bytes);
  if ((kind & 0x40) != 0) damage(driver->bytes_of(qp.ring, begin), test_qp::stride, 4);
  qp.sent =
      static_cast<std::uint16_t>(qp.sent + (at - begin + test_qp::stride - 1) / test_qp::stride);
  ring(qp);
  host->run();
}

void hostile_station::send_roce() {
  const std::uint8_t kind = script.byte();
  const unsigned which = kind % 6;
  test_qp& qp = which < 2 ? pairs[2 + which] : cabled[which - 2].qp;
  if (qp.service != layouts::qp_service::ud) {
    send_request(qp);
    return host->run();
  }
  using d = layouts::wqe_datagram;
  const bool own = which < 2;
  const unsigned index = roce_v2_ ? at_v1 + kind / 8 % 3 : unsigned{at_v1};
  const std::size_t begin = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
  model::test::test_send s;
  s.address = region_start + script.byte() * 16u;
  s.bytes = script.byte() * 8u;
  s.lkey = key;
  s.dqpn = own ? qp.number : qp.number | far_number;
  s.qkey = qkey;
  post_send(qp, s);
  std::byte* const where = driver->bytes_of(qp.ring, begin + layouts::wqe_ctrl::bytes);
  auto segment = image<d>::from_bytes(where);
  segment.set<&d::mgid_index>(index)
      .set<&d::rlid>(0)
      .set<&d::hop_limit>(64)
      .set<&d::force_loopback>((kind & 0x80) != 0)
      .set_bytes<&d::dgid>(gid_of_end(own ? 1 : 2, index).data())
      .set<&d::dmac>(own ? own_mac_ : far_addresses::mac)
      .set<&d::vlan_present>((kind & 0x40) != 0)
      .set<&d::vlan>((kind & 0x40) != 0 ? far_addresses::vlan : std::uint16_t{0xffff});
  if ((kind & 0x20) != 0)
    segment.set<&d::dqpn>(layouts::multicast_qpn)
        .set_bytes<&d::dgid>(group_gid.data())
        .set<&d::dmac>(group_mac);
  std::memcpy(where, segment.data(), segment.size());
  damage(driver->bytes_of(qp.ring, begin), test_qp::stride, 3);
  ring(qp);
  host->run();
}

// What stands in the queue, with the fields that the register wants, or nearly.
void hostile_station::copy_to_blueflame() {
  using c = layouts::wqe_ctrl_blueflame;
  const std::uint8_t kind = script.byte();
  test_qp& qp = some_queue_pair();
  const std::size_t begin = std::size_t{qp.sent % test_qp::entries} * test_qp::stride;
  auto head = image<c>::from_bytes(driver->bytes_of(qp.ring, begin));
  head.set<&c::wqe_index>(qp.sent).set<&c::qpn>(qp.number);
  std::byte copy[256] = {};
  std::memcpy(copy, driver->bytes_of(qp.ring, begin), test_qp::stride);
  std::memcpy(copy, head.data(), c::bytes);
  damage(copy, test_qp::stride, kind % 4);
  const std::uint64_t page = (8u << 20) / 2 + std::uint64_t{model::test::test_driver::uar} * 4096;
  const std::size_t bytes = kind < 0xc0 ? 64u << kind % 2 : kind % 32 * 8u;
  for (std::size_t at = 0; at < bytes; at += 8)
    hca->write_uar(page + (kind & 4) * 64u + at, layouts::load_be<std::uint64_t>(copy + at), 8);
  host->run();
}

void hostile_station::seen(const std::vector<std::byte>& bytes) {
  packet p;
  std::string why;
  if (model::from_frame(bytes, p, why) == model::roce_arrival::good) hostile_guest::seen(p);
}

model::outgoing_packet hostile_station::wrapped(const cabled_end& end,
                                                const image<layouts::bth>& base,
                                                std::size_t extended_bytes, std::size_t payload,
                                                std::uint8_t kind) {
  const unsigned index = kind < 0xe0 && roce_v2_ ? at_v1 + end.qp.number % 3 : 1 + kind % 3u;
  model::path way;
  way.port = cabled_port;
  way.global = true;
  way.sgid_index = index;
  way.dgid = gid_of_end(1, index);
  way.dmac = own_mac_;
  if (kind >= 0xf0 && index != at_v2_ipv4) way.dgid = group_gid, way.dmac = group_mac;
  way.hop_limit = 64;
  if ((kind & 0x40) != 0) way.vlan_tag = static_cast<std::uint16_t>(kind << 8 | kind % 8);
  way.udp_source_port = static_cast<std::uint16_t>(0xc000 | kind);
  return *far_codec_.wrap(way, base, extended_bytes, payload);
}

// With an ICRC over what was damaged before, and wrong for what was damaged behind it.
void hostile_station::arrives(packet p) {
  damage(p.bytes.data(), std::min<std::size_t>(p.bytes.size(), 128), 2);
  auto bytes = model::to_frame(p).bytes;
  if (const std::uint8_t kind = script.byte(); kind >= 0xe8)
    bytes[kind * 7u % bytes.size()] ^= std::byte{1};
  if (bytes.size() < 60) bytes.resize(60);
  arrives(bytes);
}

void hostile_station::frame_by_cable() {
  const std::uint8_t kind = script.byte(), shape = script.byte();
  std::vector<std::byte> frame(frames::all_frames[shape % std::size(frames::all_frames)].bytes);
  if ((kind & 1) != 0) {
    using t = layouts::vlan_tag;
    const auto tag = image<t>{}
                         .set<&t::tpid>((kind & 2) != 0 ? layouts::ethertype::service_vlan
                                                        : layouts::ethertype::vlan)
                         .set<&t::priority>(shape % 8)
                         .set<&t::vid>(shape < 0x80 ? far_addresses::vlan : number() & 0xfff);
    frame.insert(frame.begin() + addresses, tag.data(), tag.data() + t::bytes);
  }
  constexpr std::uint64_t group = 0x0100'5e00'0001, broadcast = 0xffff'ffff'ffff;
  const std::uint64_t to[] = {own_mac_, own_mac_,  own_mac_,     own_mac_,
                              group,    broadcast, own_mac_ + 1, far_addresses::mac};
  put_mac(frame.data(), to[kind >> 2 & 7]);
  if ((kind & 0x20) != 0) damage(frame.data(), std::min<std::size_t>(frame.size(), 256), 4);
  if ((kind & 0xc0) == 0x40) frame.resize(script.byte() * 40u);
  if ((kind & 0xc0) == 0x80) frame.resize(std::min<std::size_t>(frame.size(), script.byte()));
  arrives(frame);
}

void hostile_station::pause_by_cable() {
  constexpr std::uint64_t pause_group = 0x0180'c200'0001;
  constexpr std::uint16_t mac_control = 0x8808;
  const std::uint8_t kind = script.byte();
  std::vector<std::byte> frame(60);
  put_mac(frame.data(), pause_group);
  put_mac(frame.data() + 6, far_addresses::mac);
  layouts::store_be<std::uint16_t>(frame.data() + addresses, mac_control);
  // Of all, or of priorities (IEEE 802.1Qbb).
  layouts::store_be<std::uint16_t>(frame.data() + 14, (kind & 1) == 0 ? 1 : 0x101);
  layouts::store_be<std::uint16_t>(frame.data() + 16, static_cast<std::uint16_t>(number()));
  for (std::size_t at = 18; at < 34; ++at) frame[at] = static_cast<std::byte>(kind);
  if ((kind & 0x80) != 0) damage(frame.data(), frame.size(), 4);
  arrives(frame);
}

void hostile_station::act_at_cable(unsigned kind) {
  switch (kind % 16) {
    case 7:
    case 8:
    case 9:
      if (roce_) return request_by_cable();
      [[fallthrough]];
    case 10:
    case 11:
      if (roce_) return response_by_cable();
      return pause_by_cable();
    case 12:
      return pause_by_cable();
    case 13:
      return noise_by_cable();
    case 14:
      return change_cable();
    case 15:
      free_cable();
      return let_pass(second / 4);
    default:
      return frame_by_cable();
  }
}

void hostile_station::expect_working_cable(model::test::test_driver& again) {
  static_cast<void>(hca->set_link_faults(cabled_port, {}));
  free_cable();
  EXPECT_EQ(again.command(layouts::opcode::init_port, 0, cabled_port).status,
            layouts::command_status::ok);
  host->advance(second);
  EXPECT_TRUE(links().active(cabled_port));
}

}  // namespace freehca::fuzz
