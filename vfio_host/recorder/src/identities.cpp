// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "identities.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_node.hpp>
#include <freehca/layouts/set_port.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::recorder {

using namespace layouts;

namespace {

/// GUIDs and MAC addresses of one card are this close together.
constexpr std::uint64_t family = 16;

/// The least value that counts as an identity. Smaller values may be indices or flags in fields
/// that were zeroed.
constexpr std::uint64_t least_guid = std::uint64_t{1} << 32, least_mac = std::uint64_t{1} << 24;

/// The default of InfiniBand (IBTA vol. 1, 4.1.1), also in Linux include/rdma/ib_sa.h.
constexpr std::uint64_t default_gid_prefix = 0xfe80000000000000;

constexpr const char* replaced_description = "node description left out";

template <class T>
image<T> at(const bytes& data, std::size_t offset = 0) {
  if (offset + T::bytes > data.size()) return {};
  return image<T>::from_bytes(data.data() + offset);
}

void blank(bytes& data, std::size_t offset, std::size_t count) {
  if (offset < data.size())
    std::memset(data.data() + offset, 0, std::min(count, data.size() - offset));
}

std::uint64_t number_at(const std::byte* from, unsigned count) {
  std::uint64_t n = 0;
  for (unsigned i = 0; i < count; ++i) n = n << 8 | std::to_integer<std::uint64_t>(from[i]);
  return n;
}
std::uint64_t reversed(std::uint64_t n, unsigned count) {
  std::uint64_t r = 0;
  for (unsigned i = 0; i < count; ++i, n >>= 8) r = r << 8 | (n & 0xff);
  return r;
}
void put(std::byte* to, std::uint64_t n, unsigned count) {
  for (unsigned i = count; i-- > 0; n >>= 8) to[i] = static_cast<std::byte>(n & 0xff);
}

/// Replaces each value at any place, in both byte orders.
void replace_values(bytes& data, const std::map<std::uint64_t, std::uint64_t>& values,
                    unsigned count) {
  for (std::size_t i = 0; i + count <= data.size(); ++i) {
    const std::uint64_t n = number_at(data.data() + i, count);
    if (const auto big = values.find(n); big != values.end()) {
      put(data.data() + i, big->second, count);
    } else if (const auto little = values.find(reversed(n, count)); little != values.end()) {
      put(data.data() + i, reversed(little->second, count), count);
    } else {
      continue;
    }
    i += count - 1;
  }
}

using replacements = std::map<std::uint64_t, std::uint64_t>;

/// The replacement of each value. `own` becomes `becomes`. Values near a replaced value keep their
/// distance to it.
replacements replacements_of(const std::vector<std::uint64_t>& values, std::uint64_t own,
                             std::uint64_t becomes) {
  replacements all;
  if (own != 0) all[own] = becomes;
  std::uint64_t next = becomes + 0x10000;
  for (const std::uint64_t value : values) {
    const auto near = std::find_if(all.begin(), all.end(), [value](const auto& known) {
      return (value > known.first ? value - known.first : known.first - value) < family;
    });
    if (near != all.end()) {
      all.emplace(value, near->second + (value - near->first));
    } else {
      all[value] = next;
      next += 0x100;
    }
  }
  return all;
}

bool replace_number(std::uint64_t& value, const replacements& guids, const replacements& macs) {
  for (const replacements* all : {&guids, &macs}) {
    const auto found = all->find(value);
    if (found == all->end()) continue;
    value = found->second;
    return true;
  }
  return false;
}

void add_new(std::vector<std::uint64_t>& to, std::uint64_t value) {
  if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
}

}  // namespace

void identities::learn_guid(std::uint64_t guid) {
  if (guid >= least_guid && guid != ~std::uint64_t{0}) add_new(guids_, guid);
}

void identities::learn_prefix(std::uint64_t prefix) {
  // The default prefix does not identify a fabric.
  if (prefix != default_gid_prefix) learn_guid(prefix);
}

void identities::learn_mac(std::uint64_t address) {
  if (address < least_mac || address == 0xffffffffffff) return;
  if (own_mac_ == 0) own_mac_ = address;
  add_new(macs_, address);
}

void identities::learn_gid(const std::byte* gid) {
  // A multicast GID names a group, not a port.
  if (gid[0] != std::byte{0xff}) learn_guid(number_at(gid + 8, 8));
}

void identities::learn_unicast_mac(std::uint64_t address) {
  constexpr std::uint64_t group = std::uint64_t{1} << 40;
  if ((address & group) == 0) learn_mac(address);
}

void identities::learn_address(const std::byte* segment) {
  const auto to = image<wqe_datagram>::from_bytes(segment);
  if (!to.get<&wqe_datagram::grh>()) return;
  learn_gid(segment + wqe_datagram{}.dgid.offset);
  learn_unicast_mac(to.get<&wqe_datagram::dmac>());
}

/// Learns from a multicast entry, which may also steer packets to one port.
void identities::learn_group(const bytes& mailbox) {
  if (mailbox.size() < mcg_header::bytes) return;
  const std::byte* gid = mailbox.data() + mcg_header{}.gid.offset;
  constexpr std::size_t mac_in_gid = 10;
  if (at<mcg_header>(mailbox).get<&mcg_header::protocol>() != mcg_protocol::ethernet)
    return learn_gid(gid);
  learn_unicast_mac(number_at(gid + mac_in_gid, 6));
}

void identities::learn_mad(bytes& mailbox) {
  const auto head = at<smp>(mailbox);
  constexpr std::size_t data = smp{}.data.offset;
  switch (static_cast<smp_attribute>(head.get<&smp::attribute_id>())) {
    case smp_attribute::node_description:
      blank(mailbox, data, node_description::bytes);
      if (data + node_description::bytes <= mailbox.size())
        std::memcpy(mailbox.data() + data, replaced_description, std::strlen(replaced_description));
      break;
    case smp_attribute::node_info: {
      const auto info = at<node_info>(mailbox, data);
      const std::uint64_t own = info.get<&node_info::node_guid>();
      if (own_guid_ == 0 && own >= least_guid) own_guid_ = own;
      learn_guid(own);
      learn_guid(info.get<&node_info::system_image_guid>());
      learn_guid(info.get<&node_info::port_guid>());
      break;
    }
    case smp_attribute::guid_info:
      for (std::size_t i = 0; i < 8 && data + i * 8 + 8 <= mailbox.size(); ++i)
        learn_guid(number_at(mailbox.data() + data + i * 8, 8));
      break;
    case smp_attribute::sm_info:
      learn_guid(at<sm_info>(mailbox, data).get<&sm_info::guid>());
      blank(mailbox, data + sm_info{}.sm_key.offset, 8);
      break;
    case smp_attribute::port_info:
      learn_prefix(at<port_info>(mailbox, data).get<&port_info::gid_prefix>());
      blank(mailbox, data + port_info{}.mkey.offset, 8);
      break;
    default:
      break;
  }
  // Management keys are secrets of the fabric.
  blank(mailbox, smp{}.mkey.offset, 8);
}

void identities::learn_mailbox(const entry& command, bool output, bytes& mailbox) {
  switch (command.opcode) {
    case opcode::mad_ifc:
      return learn_mad(mailbox);
    case opcode::query_port:
      return learn_mac(at<query_port>(mailbox).get<&query_port::mac>());
    case opcode::query_adapter:
      // Blank up to the board identifier. No table describes the other contents of this field.
      return blank(mailbox, query_adapter{}.vsd.offset,
                   query_adapter{}.psid.offset - query_adapter{}.vsd.offset);
    case opcode::set_node:
      return blank(mailbox, set_node{}.node_description.offset, set_node::bytes);
    case opcode::set_port:
      if (command.opcode_modifier != 0) return;
      learn_guid(at<set_port_ib>(mailbox).get<&set_port_ib::system_image_guid>());
      learn_guid(at<set_port_ib>(mailbox).get<&set_port_ib::guid0>());
      return learn_guid(at<set_port_ib>(mailbox).get<&set_port_ib::node_guid>());
    case opcode::write_mcg:
    case opcode::read_mcg:
      return learn_group(mailbox);
    case opcode::init2rtr_qp:
    case opcode::rtr2rts_qp:
    case opcode::rts2rts_qp:
    case opcode::query_qp: {
      constexpr std::size_t context = qp_mailbox{}.context.offset;
      if (mailbox.size() < context + qpc::bytes) return;
      learn_gid(mailbox.data() + context + primary_path{}.rgid.offset);
      return learn_gid(mailbox.data() + context + alternate_path{}.rgid.offset);
    }
    default:
      static_cast<void>(output);
  }
}

void identities::replace(std::vector<entry>& in) const {
  const replacements guids = replacements_of(guids_, own_guid_, node_guid);
  const replacements macs = replacements_of(macs_, own_mac_, mac);
  for (entry& e : in) {
    replace_values(e.data, guids, 8);
    replace_values(e.data, macs, 6);
    replace_number(e.input, guids, macs);
    replace_number(e.output, guids, macs);
    if (e.width == 8) replace_number(e.value, guids, macs);
  }
  // An immediate of 64 bits is recorded as two accesses of 32 bits.
  for (std::size_t i = 1; i < in.size(); ++i) {
    entry &high = in[i - 1], &low = in[i];
    const bool pair = high.kind == entry_kind::call && high.name == low.name && high.width == 4 &&
                      low.width == 4 && low.at == high.at + 4;
    std::uint64_t whole = high.value << 32 | low.value;
    if (!pair || !replace_number(whole, guids, macs)) continue;
    high.value = whole >> 32;
    low.value = whole & 0xffffffff;
  }
}

}  // namespace freehca::recorder
