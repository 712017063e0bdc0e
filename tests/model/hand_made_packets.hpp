// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Packets as the other end of a link sends them.
#pragma once

#include <cstring>
#include <vector>

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/packets/packet_crc.hpp>

#include "fabric/mad_packet.hpp"

namespace freehca::model::test {

/// A directed-route request to the neighbour, by port 1.
inline layouts::image<layouts::dr_smp> directed(layouts::mad_method method,
                                                layouts::smp_attribute attribute) {
  using layouts::dr_smp;
  layouts::image<dr_smp> m;
  m.set<&dr_smp::base_version>(1)
      .set<&dr_smp::mgmt_class>(layouts::mad_class::subnet_directed_route)
      .set<&dr_smp::class_version>(1)
      .set<&dr_smp::method>(method)
      .set<&dr_smp::hop_pointer>(1)
      .set<&dr_smp::hop_count>(1)
      .set<&dr_smp::tid>(77)
      .set<&dr_smp::attribute_id>(static_cast<unsigned>(attribute))
      .set<&dr_smp::dr_slid>(layouts::permissive_lid)
      .set<&dr_smp::dr_dlid>(layouts::permissive_lid);
  m.data()[dr_smp{}.initial_path.offset + 1] = std::byte{1};
  return m;
}

template <class M>
mad_packet to_qp0(const layouts::image<M>& m, std::uint16_t slid = layouts::permissive_lid,
                  std::uint16_t dlid = layouts::permissive_lid) {
  mad_packet p;
  p.slid = slid;
  p.dlid = dlid;
  p.virtual_lane = 15;
  std::memcpy(p.mad.data(), m.data(), p.mad.size());
  return p;
}

/// With the right checksum.
inline std::vector<std::byte> to_wire(layouts::image<layouts::link_packet> p) {
  const auto crc =
      packets::variant_crc({p.data(), layouts::link_packet::bytes - layouts::vcrc_bytes});
  const std::byte after[layouts::vcrc_bytes] = {static_cast<std::byte>(crc & 0xff),
                                                static_cast<std::byte>(crc >> 8)};
  p.set_bytes<&layouts::link_packet::lpcrc>(after);
  return {p.data(), p.data() + layouts::link_packet::bytes};
}

inline std::vector<std::byte> link_packet_of(layouts::link_packet_op op, unsigned lane = 0) {
  layouts::image<layouts::link_packet> p;
  p.set<&layouts::link_packet::op>(op).set<&layouts::link_packet::vl>(lane);
  return to_wire(p);
}

}  // namespace freehca::model::test
