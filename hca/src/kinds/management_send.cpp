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

/// Bytes from the BTH to the ICRC.
constexpr unsigned transport_bytes = bth::bytes + deth::bytes + mad_bytes + icrc_bytes;

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

void put_grh(prepared& to, const image<address_vector>& path, const gid& source) {
  const std::byte* const dgid = path.data() + row_of<&address_vector::dgid>.offset;
  to.put(in_word<&grh::ip_version>(grh_ip_version) |
         in_word<&grh::traffic_class>(path.get<&address_vector::tclass>()) |
         in_word<&grh::flow_label>(path.get<&address_vector::flow_label>()) |
         in_word<&grh::payload_length>(transport_bytes) |
         in_word<&grh::next_header>(grh_next_header_bth) |
         in_word<&grh::hop_limit>(path.get<&address_vector::hop_limit>()));
  to.put(source.raw, sizeof source.raw);
  to.put(dgid, sizeof source.raw);
}

void put_infiniband(prepared& to, bool is_smi, const management_send& what,
                    const infiniband_path& a, std::uint64_t dlid,
                    const image<address_vector>& path) {
  using l = wqe_ctrl_mlx;
  const bool permissive = dlid == permissive_lid;
  // Without `slr`, the device adds the LID of the port to the path bits.
  to.second_word = in_word<&l::vl15>(is_smi) | in_word<&l::slr>(permissive) |
                   in_word<&l::sl>(a.sl) | in_word<&l::rlid>(dlid) |
                   in_word<&l::force_loopback>(a.force_loopback);
  const auto next =
      static_cast<unsigned>(a.global ? link_next_header::iba_global : link_next_header::iba_local);
  const unsigned words = (lrh::bytes + (a.global ? grh::bytes : 0) + transport_bytes) / 4;
  to.put(in_word<&lrh::virtual_lane>(is_smi ? 15u : what.virtual_lane) |
         in_word<&lrh::service_level>(a.sl) | in_word<&lrh::lnh>(next) | in_word<&lrh::dlid>(dlid) |
         in_word<&lrh::packet_length>(words) |
         in_word<&lrh::slid>(permissive ? permissive_lid : a.path_bits));
  if (a.global) put_grh(to, path, what.source);
}

status put_ethernet(prepared& to, verbs& in, const management_send& what, const roce_path& a,
                    const image<address_vector>& path) {
  using l = wqe_ctrl_ethernet;
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(attribute_id::port_mac, what.smac, most_mac, 1));
  if (what.source == gid{}) return note.refuse(attribute_id::port_gid, 1, 1);
  // The device computes the invariant CRC as the roce_mode of the queue pair says, which is that of
  // v1 here. Linux has a second queue pair for v2 (6.1 hw/mlx4/qp.c MLX4_IB_ROCE_V2_GSI_QP, commit
  // e1b866c677d6).
  if (in.adapter().addresses(a.port).gid(a.sgid_index) != gid_type::v1)
    return driver_error::unsupported;
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
  to.put(std::uint64_t{ethertype::roce_v1} << 48, ether_type_bytes);
  put_grh(to, path, what.source);
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
  // Lane 15 has the datagrams of QP0 only (Linux 6.1 hw/mlx4/qp.c build_mlx_header).
  FREEHCA_TRY(note.check(id::virtual_lane, what.virtual_lane, 14));
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
    put_infiniband(to, pair->is_smi, what, *infiniband,
                   permissive ? permissive_lid : infiniband->dlid, path);
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
