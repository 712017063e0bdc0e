// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The headers of management datagrams, as Linux writes them (6.1 hw/mlx4/qp.c build_mlx_header,
// core/ud_header.c).
#include <freehca/hca/kinds/management_queue_pair.hpp>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/word.hpp>
#include <freehca/queues/prepared_packet.hpp>

namespace freehca {

using namespace layouts;

namespace {

/// Bytes from the BTH to the ICRC, and from the UDP header.
constexpr unsigned transport_bytes = bth::bytes + deth::bytes + mad_bytes + icrc_bytes,
                   udp_bytes = udp_header::bytes + transport_bytes;

/// The headers of a packet, and the fields of its control segment.
struct prepared {
  std::byte bytes[queues::most_header_bytes + 8];
  std::uint32_t length = 0;
  std::uint64_t first_word = 0, second_word = 0;

  /// Adds the first `count` bytes of a word.
  void put(std::uint64_t word, unsigned count = 8) {
    store_be(bytes + length, word);
    length += count;
  }
  void put(const void* from, unsigned count) {
    __builtin_memcpy(bytes + length, from, count);
    length += count;
  }
};

/// Adds the network header of a path: a GRH, an IPv6 header or an IPv4 header.
void put_network(prepared& to, const image<address_vector>& path, const gid& source, gid_type type,
                 unsigned next_header) {
  const std::byte* const dgid = path.data() + row_of<&address_vector::dgid>.offset;
  const std::uint64_t hop_limit = path.get<&address_vector::hop_limit>(),
                      traffic_class = path.get<&address_vector::tclass>();
  if (type != gid_type::v2_ipv4) {
    to.put(in_word<&grh::ip_version>(grh_ip_version) | in_word<&grh::traffic_class>(traffic_class) |
           in_word<&grh::flow_label>(path.get<&address_vector::flow_label>()) |
           in_word<&grh::payload_length>(type == gid_type::v2_ipv6 ? udp_bytes : transport_bytes) |
           in_word<&grh::next_header>(next_header) | in_word<&grh::hop_limit>(hop_limit));
    to.put(source.raw, sizeof source.raw);
    return to.put(dgid, sizeof source.raw);
  }
  using l = ipv4_header;
  std::byte* const header = to.bytes + to.length;
  to.put(in_word<&l::version>(ipv4_version) | in_word<&l::header_words>(l::bytes / 4) |
         in_word<&l::tos>(traffic_class) | in_word<&l::total_length>(l::bytes + udp_bytes) |
         in_word<&l::dont_fragment>(1));
  to.put(in_word<&l::ttl>(hop_limit) | in_word<&l::protocol>(ip_protocol_udp), 4);
  to.put(source.raw + 12, 4);
  to.put(dgid + 12, 4);
  std::uint32_t sum = 0;
  for (unsigned at = 0; at < l::bytes; at += 2) sum += load_be<std::uint16_t>(header + at);
  sum = (sum & 0xffff) + (sum >> 16);
  store_be(header + 10, static_cast<std::uint16_t>(~(sum + (sum >> 16))));
}

void put_infiniband(prepared& to, bool is_smi, const infiniband_path& a, std::uint64_t dlid,
                    const image<address_vector>& path, const gid& source) {
  using l = wqe_ctrl_mlx;
  const bool permissive = dlid == permissive_lid;
  // Without `slr`, the device adds the LID of the port to the path bits.
  to.second_word = in_word<&l::vl15>(is_smi) | in_word<&l::slr>(permissive) |
                   in_word<&l::sl>(a.sl) | in_word<&l::rlid>(dlid) |
                   in_word<&l::force_loopback>(a.force_loopback);
  const auto next =
      static_cast<unsigned>(a.global ? link_next_header::iba_global : link_next_header::iba_local);
  const unsigned words = (lrh::bytes + (a.global ? grh::bytes : 0) + transport_bytes) / 4;
  to.put(in_word<&lrh::virtual_lane>(is_smi ? 15 : 0) | in_word<&lrh::service_level>(a.sl) |
         in_word<&lrh::lnh>(next) | in_word<&lrh::dlid>(dlid) |
         in_word<&lrh::packet_length>(words) |
         in_word<&lrh::slid>(permissive ? permissive_lid : a.path_bits));
  if (a.global) put_network(to, path, source, gid_type::v1, grh_next_header_bth);
}

status put_ethernet(prepared& to, verbs& in, const management_send& what, const roce_path& a,
                    const image<address_vector>& path) {
  using l = wqe_ctrl_ethernet;
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(attribute_id::port_mac, what.smac, most_mac, 1));
  const gid_type type = in.adapter().addresses(a.port).gid(a.sgid_index);
  const bool v1 = type == gid_type::v1, ipv4 = type == gid_type::v2_ipv4;
  if (what.source == gid{} || (!v1 && is_ipv4(what.source) != ipv4))
    return note.refuse(attribute_id::port_gid, 1, 1);
  to.first_word = in_word<&l::vlan_tag>(std::uint64_t{a.priority} << 13);
  to.second_word = in_word<&l::dmac_47_32>(a.dmac >> 32) |
                   in_word<&l::dmac_31_0>(a.dmac & 0xffff'ffff) |
                   in_word<&l::force_loopback>(a.dmac == what.smac);
  to.put(a.dmac << 16, 6);
  to.put(what.smac << 16, 6);
  if (a.vlan != no_vlan)
    to.put(in_word<&vlan_tag::tpid>(ethertype::vlan) | in_word<&vlan_tag::priority>(a.priority) |
               in_word<&vlan_tag::vid>(a.vlan),
           vlan_tag::bytes);
  const std::uint16_t ether_type = v1     ? ethertype::roce_v1
                                   : ipv4 ? ethertype::ipv4
                                          : ethertype::ipv6;
  to.put(std::uint64_t{ether_type} << 48, ether_type_bytes);
  put_network(to, path, what.source, type, v1 ? grh_next_header_bth : ip_protocol_udp);
  if (!v1)
    to.put(in_word<&udp_header::source_port>(roce_v2_first_source_port) |
           in_word<&udp_header::destination_port>(roce_v2_udp_port) |
           in_word<&udp_header::length>(udp_bytes));
  return {};
}

}  // namespace

status send_management(verbs& in, management_qp_handle from, const management_send& what) {
  management_queue_pair* const pair = in.find(from);
  FREEHCA_TRY(verbs::usable(pair));
  refused_attribute& note = in.refused();
  using id = attribute_id;
  const std::uint32_t most_qpn = pair->is_smi ? qp0_smi : multicast_qpn;
  FREEHCA_TRY(note.check(id::port, what.address.port(), pair->port, pair->port));
  FREEHCA_TRY(note.check(id::management_bytes, what.datagram.length, mad_bytes, mad_bytes));
  FREEHCA_TRY(note.check(id::remote_qpn, what.remote_qpn, most_qpn, pair->is_smi ? 0 : 1));
  // 0 and 0x8000 are no P_Keys (IBTA vol. 1, 10.9.1.1).
  FREEHCA_TRY(note.check(id::pkey, what.pkey & 0x7fff, 0x7fff, 1));
  FREEHCA_TRY(check_port(in, what.address));
  address_attributes way = what.address;
  infiniband_path* const infiniband = way.infiniband();
  const bool permissive =
      pair->is_smi && infiniband != nullptr && infiniband->dlid == permissive_lid;
  if (permissive) infiniband->dlid = 1;
  image<address_vector> path;
  FREEHCA_TRY(write_path(in, way, true, path));
  prepared to;
  if (infiniband != nullptr)
    put_infiniband(to, pair->is_smi, *infiniband, permissive ? permissive_lid : infiniband->dlid,
                   path, what.source);
  else FREEHCA_TRY(put_ethernet(to, in, what, *way.roce(), path));
  queues::sq& queue = pair->rings.send;
  to.put(in_word<&bth::opcode>(static_cast<unsigned>(bth_opcode::ud_send_only)) |
         in_word<&bth::solicited>(what.solicited) | in_word<&bth::pkey>(what.pkey) |
         in_word<&bth::dest_qp>(what.remote_qpn));
  to.put(in_word<&bth::psn>(queue.posted() & 0xffffff), bth::bytes - 8);
  to.put(in_word<&deth::qkey>(what.qkey) |
         in_word<&deth::source_qp>(pair->is_smi ? qp0_smi : qp1_gsi));
  return queue.post_and_ring(queues::send_packet{
      .wr_id = what.wr_id,
      .packet_headers = {to.bytes, to.length},
      .first_word = to.first_word,
      .second_word = to.second_word,
      .data = {&what.datagram, 1},
      .flags = what.signaled ? queues::request_flags::signaled : queues::request_flags::none});
}

}  // namespace freehca
