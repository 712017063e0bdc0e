// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/subnet_agent.hpp>

#include <algorithm>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

template <class A>
void answer(image<smp>& m, const image<A>& value) {
  set_attribute<&smp::data>(m, value);
}

// Bit 31: the manager knows extended speeds (IBTA 1.3, 14.2.5.6).
constexpr std::uint64_t extended_speeds = 1u << 31;
constexpr std::uint64_t low_half = 0xffff;

}  // namespace

bool subnet_agent::process(packets::mad_buffer& mad, unsigned ingress) {
  auto m = image<smp>::from_bytes(mad.data());
  const mad_class mgmt_class = m.get<&smp::mgmt_class>();
  if (m.get<&smp::base_version>() != mad_base_version) return false;
  if (mgmt_class != mad_class::subnet_lid_routed && mgmt_class != mad_class::subnet_directed_route)
    return false;
  const mad_method method = m.get<&smp::method>();
  const bool is_get = method == mad_method::get, is_set = method == mad_method::set;
  // Responses and traps are not for an agent.
  if (!is_get && !is_set && method != mad_method::trap_repress) return false;

  const auto protect = ports_[0].info.get<&port_info::mkey_protect>();
  const bool passed = mkey_passes(m);
  bool hide_mkey = false;
  if (!passed) {
    if (!is_get || protect >= 2) {
      listener_.mkey_checked(image<dr_smp>::from_bytes(mad.data()), false);
      return false;
    }
    hide_mkey = protect == 1;
  } else {
    listener_.mkey_checked(image<dr_smp>::from_bytes(mad.data()), true);
  }
  if (method == mad_method::trap_repress) {
    listener_.trap_repressed(m.get<&smp::tid>());
    return false;
  }
  std::uint16_t status = mad_status::bad_version;
  if (m.get<&smp::class_version>() == 1) {
    status = is_set ? set(m) : mad_status::success;
    if (status == mad_status::success || status == mad_status::invalid_attribute_value) {
      const std::uint16_t read = get(m, ingress, hide_mkey);
      if (status == mad_status::success) status = read;
    }
  }
  m.set<&smp::method>(mad_method::get_resp).set<&smp::status>(status);
  std::copy_n(m.data(), mad.size(), mad.begin());
  return true;
}

bool subnet_agent::mkey_passes(const image<smp>& m) const {
  const auto key = ports_[0].info.get<&port_info::mkey>();
  return key == 0 || key == m.get<&smp::mkey>();
}

switch_port* subnet_agent::port_of_info(std::uint64_t modifier) {
  const std::uint64_t port = modifier & ~extended_speeds;
  return port < ports_.size() ? &ports_[port] : nullptr;
}

// The high half names the port (IBTA vol. 1, 14.2.5.7); each has one block.
switch_port* subnet_agent::port_of_pkeys(std::uint64_t modifier) {
  const std::uint64_t port = modifier >> 16;
  return port < ports_.size() && (modifier & low_half) == 0 ? &ports_[port] : nullptr;
}

// Bits 15 to 8: the port that a packet comes in by; 7 to 0: by which it leaves. The bits above ask
// for many tables at once, which SwitchInfo does not offer.
image<sl_to_vl_table>* subnet_agent::sl_to_vl_of(std::uint64_t modifier) {
  const std::uint64_t in = modifier >> 8, out = modifier & 0xff;
  return in < ports_.size() && out < ports_.size() ? &ports_[out].sl_to_vl[in] : nullptr;
}

// High half: which block, as in layouts::vl_arbitration; tables of up to 32 entries have their
// first alone. Low half: the port. Port 0 has no lanes to arbitrate.
image<vl_arbitration>* subnet_agent::vl_arbitration_of(std::uint64_t modifier) {
  const std::uint64_t port = modifier & low_half;
  if (port == 0 || port >= ports_.size()) return nullptr;
  switch (modifier >> 16) {
    case 1:
      return &ports_[port].vl_arbitration_low;
    case 3:
      return &ports_[port].vl_arbitration_high;
    default:
      return nullptr;
  }
}

std::uint16_t subnet_agent::get(image<smp>& m, unsigned ingress, bool hide_mkey) {
  constexpr std::uint16_t no_such = mad_status::invalid_attribute_value;
  const auto modifier = m.get<&smp::attribute_modifier>();
  switch (static_cast<smp_attribute>(m.get<&smp::attribute_id>())) {
    case smp_attribute::node_description:
      m.set_bytes<&smp::data>(who_.description.data());
      return mad_status::success;
    case smp_attribute::node_info:
      answer(m, image<node_info>{}
                    .set<&node_info::base_version>(mad_base_version)
                    .set<&node_info::class_version>(1)
                    .set<&node_info::type>(node_type::switch_node)
                    .set<&node_info::num_ports>(who_.ports)
                    .set<&node_info::system_image_guid>(who_.guid)
                    .set<&node_info::node_guid>(who_.guid)
                    .set<&node_info::port_guid>(who_.guid)
                    .set<&node_info::partition_cap>(switch_port::pkeys_at_most)
                    .set<&node_info::local_port_num>(ingress));
      return mad_status::success;
    case smp_attribute::switch_info:
      answer(m, tables_.info());
      return mad_status::success;
    case smp_attribute::port_info: {
      const switch_port* port = port_of_info(modifier);
      if (port == nullptr) return no_such;
      image<port_info> info = port->info;
      // LocalPortNum is the port that the request came in by (IBTA vol. 1, 14.2.5.6).
      info.set<&port_info::local_port_num>(ingress);
      if (hide_mkey) info.set<&port_info::mkey>(0);
      answer(m, info);
      return mad_status::success;
    }
    case smp_attribute::guid_info: {
      if (modifier != 0) return no_such;
      image<guid_info> block;
      set_element<&guid_info::guids, std::uint64_t>(block, 0, who_.guid);
      answer(m, block);
      return mad_status::success;
    }
    case smp_attribute::pkey_table: {
      const switch_port* port = port_of_pkeys(modifier);
      if (port == nullptr) return no_such;
      image<pkey_table> block;
      for (unsigned i = 0; i < pkeys_per_block; ++i)
        set_element<&pkey_table::pkeys, std::uint16_t>(block, i, port->pkeys[i]);
      answer(m, block);
      return mad_status::success;
    }
    case smp_attribute::sl_to_vl_table: {
      const image<sl_to_vl_table>* table = sl_to_vl_of(modifier);
      if (table == nullptr) return no_such;
      answer(m, *table);
      return mad_status::success;
    }
    case smp_attribute::vl_arbitration: {
      const image<vl_arbitration>* table = vl_arbitration_of(modifier);
      if (table == nullptr) return no_such;
      answer(m, *table);
      return mad_status::success;
    }
    case smp_attribute::linear_forwarding: {
      image<linear_forwarding_block> block;
      if (!tables_.read_linear(modifier, block)) return no_such;
      answer(m, block);
      return mad_status::success;
    }
    case smp_attribute::multicast_forwarding: {
      image<multicast_forwarding_block> block;
      if (!tables_.read_multicast(modifier, block)) return no_such;
      answer(m, block);
      return mad_status::success;
    }
    case smp_attribute::vendor_diag: {
      // IBTA vol. 1, 14.2.5.10: with index 0 the answer tells where vendor data begin; there are
      // none.
      static constexpr std::array<std::byte, 64> nothing{};
      m.set_bytes<&smp::data>(nothing.data());
      return mad_status::success;
    }
    // A subnet manager answers SMInfo, and none is here; notices are sent as traps only
    // (IsNoticeSupported is clear); RandomFDBCap is 0; there are no LEDs.
    default:
      return mad_status::unsupported_method_attribute;
  }
}

std::uint16_t subnet_agent::set(const image<smp>& m) {
  constexpr std::uint16_t no_such = mad_status::invalid_attribute_value;
  const auto modifier = m.get<&smp::attribute_modifier>();
  switch (static_cast<smp_attribute>(m.get<&smp::attribute_id>())) {
    case smp_attribute::switch_info:
      return set_switch_info(m);
    case smp_attribute::port_info:
      return set_port_info(m);
    case smp_attribute::guid_info:
      // Entry 0 is read-only (IBTA vol. 1, 14.2.5.5), and the only one.
      return modifier == 0 ? mad_status::success : no_such;
    case smp_attribute::pkey_table:
      return set_pkeys(m);
    case smp_attribute::sl_to_vl_table: {
      image<sl_to_vl_table>* table = sl_to_vl_of(modifier);
      if (table == nullptr) return no_such;
      *table = attribute<&smp::data, sl_to_vl_table>(m);
      return mad_status::success;
    }
    case smp_attribute::vl_arbitration: {
      image<vl_arbitration>* table = vl_arbitration_of(modifier);
      if (table == nullptr) return no_such;
      // Entries past the port's capacity stay zero.
      image<vl_arbitration> wanted;
      std::copy_n(m.bytes_of<&smp::data>(), 2 * switch_port::vl_arbitration_entries, wanted.data());
      *table = wanted;
      return mad_status::success;
    }
    case smp_attribute::linear_forwarding:
      return tables_.write_linear(modifier, attribute<&smp::data, linear_forwarding_block>(m))
                 ? mad_status::success
                 : no_such;
    case smp_attribute::multicast_forwarding:
      return tables_.write_multicast(modifier, attribute<&smp::data, multicast_forwarding_block>(m))
                 ? mad_status::success
                 : no_such;
    default:
      return mad_status::unsupported_method_attribute;
  }
}

std::uint16_t subnet_agent::set_pkeys(const image<smp>& m) {
  switch_port* port = port_of_pkeys(m.get<&smp::attribute_modifier>());
  if (port == nullptr) return mad_status::invalid_attribute_value;
  const auto wanted = attribute<&smp::data, pkey_table>(m);
  for (unsigned i = 0; i < pkeys_per_block; ++i)
    port->pkeys[i] = element<&pkey_table::pkeys, std::uint16_t>(wanted, i);
  return mad_status::success;
}

}  // namespace freehca::infiniband_switch
