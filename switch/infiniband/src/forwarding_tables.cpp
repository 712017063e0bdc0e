// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/forwarding_tables.hpp>

#include <freehca/layouts/mad.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

constexpr unsigned multicast_block_mask = 0x1ff, position_shift = 28;

struct multicast_place {
  unsigned first_lid, shift;
};

/// None when there is no such block, or no such ports.
bool find(std::uint64_t modifier, multicast_place& to) {
  const auto block = static_cast<unsigned>(modifier & multicast_block_mask);
  const auto position = static_cast<unsigned>(modifier >> position_shift);
  const auto between =
      modifier & ((1u << position_shift) - 1) & ~std::uint64_t{multicast_block_mask};
  to = {block * lids_per_multicast_block, position * ports_per_multicast_mask};
  return between == 0 && to.first_lid < forwarding_tables::multicast_lids && to.shift <= most_ports;
}

port_mask bit_of(unsigned port) {
  return port <= most_ports ? port_mask{1} << port : 0;
}

}  // namespace

forwarding_tables::forwarding_tables()
    : linear_(unicast_lids, forwards_nowhere), multicast_(multicast_lids, 0) {
  info_.set<&switch_info::linear_fdb_cap>(unicast_lids)
      .set<&switch_info::multicast_fdb_cap>(multicast_lids)
      .set<&switch_info::default_port>(forwards_nowhere)
      .set<&switch_info::default_multicast_primary>(forwards_nowhere)
      .set<&switch_info::default_multicast_other>(forwards_nowhere)
      .set<&switch_info::partition_enforcement_cap>(switch_port::pkeys_at_most)
      .set<&switch_info::inbound_enforcement_cap>(true)
      .set<&switch_info::outbound_enforcement_cap>(true);
}

unsigned forwarding_tables::port_of(std::uint16_t lid) const {
  return lid <= info_.get<&switch_info::linear_fdb_top>() && lid < linear_.size()
             ? linear_[lid]
             : forwards_nowhere;
}

port_mask forwarding_tables::ports_of(std::uint16_t lid, unsigned ingress) const {
  const unsigned entry = lid - first_multicast_lid;
  port_mask to = 0;
  if (entry < multicast_.size()) {
    to = multicast_[entry];
  } else {
    // What the table has no room for goes to the default port; what came from there to the other.
    const auto primary =
        static_cast<unsigned>(info_.get<&switch_info::default_multicast_primary>());
    to = bit_of(primary != ingress
                    ? primary
                    : static_cast<unsigned>(info_.get<&switch_info::default_multicast_other>()));
  }
  return to & ~bit_of(ingress);
}

bool forwarding_tables::read_linear(std::uint64_t modifier,
                                    image<linear_forwarding_block>& to) const {
  if (modifier >= unicast_lids / lids_per_linear_block) return false;
  const std::size_t first = modifier * lids_per_linear_block;
  for (std::size_t i = 0; i < lids_per_linear_block; ++i)
    to.data()[i] = static_cast<std::byte>(linear_[first + i]);
  return true;
}

bool forwarding_tables::write_linear(std::uint64_t modifier,
                                     const image<linear_forwarding_block>& from) {
  if (modifier >= unicast_lids / lids_per_linear_block) return false;
  const std::size_t first = modifier * lids_per_linear_block;
  for (std::size_t i = 0; i < lids_per_linear_block; ++i)
    linear_[first + i] = std::to_integer<std::uint8_t>(from.data()[i]);
  return true;
}

bool forwarding_tables::read_multicast(std::uint64_t modifier,
                                       image<multicast_forwarding_block>& to) const {
  multicast_place at{};
  if (!find(modifier, at)) return false;
  for (unsigned i = 0; i < lids_per_multicast_block; ++i)
    set_element<&multicast_forwarding_block::masks, std::uint16_t>(
        to, i, static_cast<std::uint16_t>(multicast_[at.first_lid + i] >> at.shift & 0xffff));
  return true;
}

bool forwarding_tables::write_multicast(std::uint64_t modifier,
                                        const image<multicast_forwarding_block>& from) {
  multicast_place at{};
  if (!find(modifier, at)) return false;
  for (unsigned i = 0; i < lids_per_multicast_block; ++i) {
    const port_mask mask{element<&multicast_forwarding_block::masks, std::uint16_t>(from, i)};
    port_mask& entry = multicast_[at.first_lid + i];
    entry = (entry & ~(port_mask{0xffff} << at.shift)) | mask << at.shift;
  }
  return true;
}

}  // namespace freehca::infiniband_switch
