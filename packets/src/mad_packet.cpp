// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/packets/mad_packet.hpp>

#include <algorithm>

namespace freehca::packets {
namespace {

using namespace layouts;

template <class T>
void append(std::vector<std::byte>& p, const image<T>& header) {
  p.insert(p.end(), header.data(), header.data() + T::bytes);
}

/// Reads headers one after the other.
class header_reader {
 public:
  explicit header_reader(std::span<const std::byte> p) : p_(p) {}
  template <class T>
  std::optional<image<T>> next() {
    if (p_.size() - at_ < T::bytes) return std::nullopt;
    const auto i = image<T>::from_bytes(p_.data() + at_);
    at_ += T::bytes;
    return i;
  }
  std::size_t rest() const { return p_.size() - at_; }
  const std::byte* data() const { return p_.data() + at_; }

 private:
  std::span<const std::byte> p_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::byte> build(const mad_packet& m) {
  const std::size_t global = m.grh ? grh::bytes : 0;
  const std::size_t after_grh = bth::bytes + deth::bytes + mad_bytes + icrc_bytes;
  std::vector<std::byte> p;
  p.reserve(lrh::bytes + global + after_grh);
  append(p, image<lrh>{}
                .set<&lrh::virtual_lane>(m.virtual_lane)
                .set<&lrh::service_level>(m.service_level)
                .set<&lrh::lnh>(m.grh ? link_next_header::iba_global : link_next_header::iba_local)
                .set<&lrh::dlid>(m.dlid)
                .set<&lrh::packet_length>((lrh::bytes + global + after_grh) / 4)
                .set<&lrh::slid>(m.slid));
  if (m.grh) {
    image<grh> g = *m.grh;
    append(p, g.set<&grh::ip_version>(grh_ip_version)
                  .set<&grh::payload_length>(after_grh)
                  .set<&grh::next_header>(grh_next_header_bth));
  }
  append(p, image<bth>{}
                .set<&bth::opcode>(bth_opcode::ud_send_only)
                .set<&bth::pkey>(m.pkey)
                .set<&bth::dest_qp>(m.dest_qp)
                .set<&bth::psn>(m.psn & 0xffffff));
  append(p, image<deth>{}.set<&deth::qkey>(m.qkey).set<&deth::source_qp>(m.source_qp));
  p.insert(p.end(), m.mad.begin(), m.mad.end());
  return p;
}

std::optional<mad_packet> decode(std::span<const std::byte> content) {
  header_reader from(content);
  const auto link = from.next<lrh>();
  if (!link) return std::nullopt;
  mad_packet m;
  const link_next_header next = link->get<&lrh::lnh>();
  if (next == link_next_header::iba_global) {
    m.grh = from.next<grh>();
    if (!m.grh) return std::nullopt;
  } else if (next != link_next_header::iba_local) {
    return std::nullopt;
  }
  const auto base = from.next<bth>();
  if (!base || base->get<&bth::opcode>() != bth_opcode::ud_send_only ||
      base->get<&bth::pad_count>() != 0)
    return std::nullopt;
  const auto datagram = from.next<deth>();
  if (!datagram || from.rest() != mad_bytes) return std::nullopt;
  m.slid = static_cast<std::uint16_t>(link->get<&lrh::slid>());
  m.dlid = static_cast<std::uint16_t>(link->get<&lrh::dlid>());
  m.virtual_lane = static_cast<std::uint8_t>(link->get<&lrh::virtual_lane>());
  m.service_level = static_cast<std::uint8_t>(link->get<&lrh::service_level>());
  m.dest_qp = static_cast<std::uint32_t>(base->get<&bth::dest_qp>());
  m.pkey = static_cast<std::uint16_t>(base->get<&bth::pkey>());
  m.psn = static_cast<std::uint32_t>(base->get<&bth::psn>());
  m.qkey = static_cast<std::uint32_t>(datagram->get<&deth::qkey>());
  m.source_qp = static_cast<std::uint32_t>(datagram->get<&deth::source_qp>());
  std::copy_n(from.data(), mad_bytes, m.mad.begin());
  return m;
}

std::optional<packet_summary> summarise(std::span<const std::byte> content) {
  header_reader from(content);
  const auto link = from.next<lrh>();
  if (!link) return std::nullopt;
  packet_summary s;
  const link_next_header next = link->get<&lrh::lnh>();
  s.global = next == link_next_header::iba_global;
  if (!s.global && next != link_next_header::iba_local) return std::nullopt;
  if (s.global && !from.next<grh>()) return std::nullopt;
  const auto base = from.next<bth>();
  if (!base) return std::nullopt;
  s.slid = static_cast<std::uint16_t>(link->get<&lrh::slid>());
  s.dlid = static_cast<std::uint16_t>(link->get<&lrh::dlid>());
  s.dest_qp = static_cast<std::uint32_t>(base->get<&bth::dest_qp>());
  s.opcode = base->get<&bth::opcode>();
  s.words = static_cast<std::uint32_t>((content.size() + icrc_bytes) / 4);
  return s;
}

}  // namespace freehca::packets
