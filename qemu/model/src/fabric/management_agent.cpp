// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/management_agent.hpp"

#include <algorithm>

namespace freehca::model {

using namespace layouts;

namespace {

template <class A>
void answer(image<layouts::smp>& m, const image<A>& value) {
  set_attribute<&layouts::smp::data>(m, value);
}

// Bit 31: the manager knows extended speeds (IBTA 1.3, 14.2.5.6; libibmad sets it, ibportstate.c).
constexpr std::uint64_t extended_speeds = 1u << 31;

bool asks_for_port_info(const image<layouts::smp>& m) {
  return m.get<&layouts::smp::method>() == mad_method::get &&
         m.get<&layouts::smp::attribute_id>() == static_cast<unsigned>(smp_attribute::port_info);
}

unsigned pkey_blocks(const managed_port& p) {
  return (p.pkey_entries + pkeys_per_block - 1) / pkeys_per_block;
}
unsigned guid_blocks(const managed_port& p) {
  return (p.guid_entries() + guids_per_block - 1) / guids_per_block;
}

}  // namespace

mad_result management_agent::process(mad_buffer& mad, bool check_mkey) {
  auto m = image<smp>::from_bytes(mad.data());
  const mad_class mgmt_class = m.get<&smp::mgmt_class>();
  if (m.get<&smp::base_version>() != mad_base_version) return mad_result::discarded;
  if (mgmt_class != mad_class::subnet_lid_routed && mgmt_class != mad_class::subnet_directed_route)
    return mad_result::discarded;
  const mad_method method = m.get<&smp::method>();
  const bool is_get = method == mad_method::get, is_set = method == mad_method::set;
  // Responses and traps are not for an agent.
  if (!is_get && !is_set && method != mad_method::trap_repress) return mad_result::discarded;

  view shown;
  if (check_mkey && !mkey_passes(m, port_)) {
    const auto protect = port_.info.get<&port_info::mkey_protect>();
    if (!is_get || protect >= 2) {
      if (listener_ != nullptr)
        listener_->mkey_checked(image<dr_smp>::from_bytes(mad.data()), false);
      return mad_result::discarded;
    }
    shown.hide_mkey = protect == 1;
  } else if (check_mkey && listener_ != nullptr) {
    listener_->mkey_checked(image<dr_smp>::from_bytes(mad.data()), true);
  }

  // What another port tells is by its own key too (Linux qib_mad.c subn_get_portinfo).
  if (const managed_port* named = named_port(m.get<&smp::attribute_modifier>());
      check_mkey && asks_for_port_info(m) && named != nullptr && !mkey_passes(m, *named)) {
    const auto protect = named->info.get<&port_info::mkey_protect>();
    if (protect >= 2) return mad_result::discarded;
    shown.hide_mkey = shown.hide_mkey || protect == 1;
  }

  if (method == mad_method::trap_repress) {
    if (listener_ != nullptr) listener_->trap_repressed(m.get<&smp::tid>());
    return mad_result::consumed;
  }
  std::uint16_t status = mad_status::bad_version;
  if (m.get<&smp::class_version>() == 1) {
    status = is_set ? set(m, shown) : mad_status::success;
    if (status == mad_status::success || status == mad_status::invalid_attribute_value) {
      const std::uint16_t read = get(m, shown);
      if (status == mad_status::success) status = read;
    }
  }
  m.set<&smp::method>(mad_method::get_resp).set<&smp::status>(status);
  std::copy_n(m.data(), mad.size(), mad.begin());
  return mad_result::answered;
}

bool management_agent::mkey_passes(const image<smp>& request, const managed_port& port) {
  const auto key = port.info.get<&port_info::mkey>();
  return key == 0 || key == request.get<&smp::mkey>();
}

bool management_agent::own_port(std::uint64_t attribute_modifier) const {
  const std::uint64_t port = attribute_modifier & ~extended_speeds;
  return port == 0 || port == port_.info.get<&port_info::local_port_num>();
}

const managed_port* management_agent::named_port(std::uint64_t attribute_modifier) const {
  if (own_port(attribute_modifier)) return &port_;
  const std::uint64_t port = attribute_modifier & ~extended_speeds;
  return port <= node_.all_ports.size() ? node_.all_ports[port - 1] : nullptr;
}

image<vl_arbitration>* management_agent::vl_arbitration_of(std::uint64_t attribute_modifier) {
  // Tables of up to 32 entries have their first block only.
  switch (attribute_modifier >> 16) {
    case 1:
      return &port_.vl_arbitration_low;
    case 3:
      return &port_.vl_arbitration_high;
    default:
      return nullptr;
  }
}

std::uint16_t management_agent::get(image<smp>& m, const view& shown) {
  const auto modifier = m.get<&smp::attribute_modifier>();
  switch (static_cast<smp_attribute>(m.get<&smp::attribute_id>())) {
    case smp_attribute::node_description:
      m.set_bytes<&smp::data>(node_.description.data());
      break;
    case smp_attribute::node_info:
      answer(m, node_info_of(node_, port_));
      break;
    case smp_attribute::port_info: {
      const managed_port* named = named_port(modifier);
      if (named == nullptr) return mad_status::invalid_attribute_value;
      image<port_info> info = named->info;
      // LocalPortNum is the port that the request came in by (IBTA vol. 1, 14.2.5.6).
      info.set<&port_info::local_port_num>(port_.info.get<&port_info::local_port_num>());
      if (shown.hide_mkey) info.set<&port_info::mkey>(0);
      info.set<&port_info::client_reregister>(shown.reregister);
      answer(m, info);
      break;
    }
    case smp_attribute::guid_info: {
      if (modifier >= guid_blocks(port_)) return mad_status::invalid_attribute_value;
      image<guid_info> block;
      for (unsigned i = 0; i < guids_per_block; ++i)
        set_element<&guid_info::guids, std::uint64_t>(block, i,
                                                      port_.guids[modifier * guids_per_block + i]);
      answer(m, block);
      break;
    }
    case smp_attribute::pkey_table: {
      if ((modifier & 0xffff) >= pkey_blocks(port_)) return mad_status::invalid_attribute_value;
      image<pkey_table> block;
      for (unsigned i = 0; i < pkeys_per_block; ++i)
        set_element<&pkey_table::pkeys, std::uint16_t>(
            block, i, port_.pkeys[(modifier & 0xffff) * pkeys_per_block + i]);
      answer(m, block);
      break;
    }
    case smp_attribute::sl_to_vl_table:
      answer(m, port_.sl_to_vl);
      break;
    case smp_attribute::vl_arbitration: {
      const image<vl_arbitration>* table = vl_arbitration_of(modifier);
      if (table == nullptr) return mad_status::invalid_attribute_value;
      answer(m, *table);
      break;
    }
    case smp_attribute::vendor_diag: {
      // IBTA vol. 1, 14.2.5.10: with index 0 the answer tells where vendor data begin; there are
      // none.
      static constexpr std::array<std::byte, 64> nothing{};
      m.set_bytes<&smp::data>(nothing.data());
      break;
    }
    case smp_attribute::mlnx_ext_port_info:
      if (!port_.vendor_port_info) return mad_status::unsupported_method_attribute;
      if (!own_port(modifier)) return mad_status::invalid_attribute_value;
      answer(m, port_.extended_info);
      break;
    // The port's SM answers SMInfo, if there is one, and not its SMA; notices are sent as traps
    // only (IsNoticeSupported is clear); switches have the forwarding tables.
    default:
      return mad_status::unsupported_method_attribute;
  }
  return mad_status::success;
}

std::uint16_t management_agent::set(image<smp>& m, view& shown) {
  const auto modifier = m.get<&smp::attribute_modifier>();
  switch (static_cast<smp_attribute>(m.get<&smp::attribute_id>())) {
    case smp_attribute::port_info:
      return set_port_info(m, shown);
    case smp_attribute::guid_info:
      return set_guids(m);
    case smp_attribute::pkey_table:
      return set_pkeys(m);
    case smp_attribute::sl_to_vl_table: {
      const auto wanted = attribute<&smp::data, sl_to_vl_table>(m);
      const bool changed = !(wanted == port_.sl_to_vl);
      port_.sl_to_vl = wanted;
      if (changed && listener_ != nullptr) listener_->sl_to_vl_set();
      return mad_status::success;
    }
    case smp_attribute::vl_arbitration:
      return set_vl_arbitration(m);
    case smp_attribute::mlnx_ext_port_info:
      if (!port_.vendor_port_info) return mad_status::unsupported_method_attribute;
      if (!own_port(modifier)) return mad_status::invalid_attribute_value;
      port_.extended_info.set<&mlnx_ext_port_info::link_speed_enabled>(
          attribute<&smp::data, mlnx_ext_port_info>(m)
              .get<&mlnx_ext_port_info::link_speed_enabled>() &
          port_.extended_info.get<&mlnx_ext_port_info::link_speed_supported>());
      return mad_status::success;
    default:
      return mad_status::unsupported_method_attribute;
  }
}

std::uint16_t management_agent::set_guids(const image<smp>& m) {
  const auto block = static_cast<unsigned>(m.get<&smp::attribute_modifier>());
  if (block >= guid_blocks(port_)) return mad_status::invalid_attribute_value;
  const auto wanted = attribute<&smp::data, guid_info>(m);
  std::uint32_t changed = 0;
  for (unsigned i = 0; i < guids_per_block; ++i) {
    const unsigned entry = block * guids_per_block + i;
    const auto guid = element<&guid_info::guids, std::uint64_t>(wanted, i);
    if (entry == 0 || entry >= port_.guid_entries() || port_.guids[entry] == guid) continue;
    port_.guids[entry] = guid;
    changed |= 1u << i;
  }
  if (changed != 0 && listener_ != nullptr) listener_->guids_set(block, changed);
  return mad_status::success;
}

std::uint16_t management_agent::set_pkeys(const image<smp>& m) {
  const auto block = static_cast<unsigned>(m.get<&smp::attribute_modifier>() & 0xffff);
  if (block >= pkey_blocks(port_)) return mad_status::invalid_attribute_value;
  const auto wanted = attribute<&smp::data, pkey_table>(m);
  std::uint32_t changed = 0;
  for (unsigned i = 0; i < pkeys_per_block; ++i) {
    const unsigned entry = block * pkeys_per_block + i;
    const auto pkey = element<&pkey_table::pkeys, std::uint16_t>(wanted, i);
    if (entry >= port_.pkey_entries || port_.pkeys[entry] == pkey) continue;
    port_.pkeys[entry] = pkey;
    changed |= 1u << i;
  }
  if (changed != 0 && listener_ != nullptr) listener_->pkeys_set(block, changed);
  return mad_status::success;
}

std::uint16_t management_agent::set_vl_arbitration(const image<smp>& m) {
  image<vl_arbitration>* table = vl_arbitration_of(m.get<&smp::attribute_modifier>());
  if (table == nullptr) return mad_status::invalid_attribute_value;
  // Entries past the port's capacity stay zero.
  image<vl_arbitration> wanted;
  std::copy_n(m.bytes_of<&smp::data>(), 2 * managed_port::vl_arbitration_entries, wanted.data());
  *table = wanted;
  return mad_status::success;
}

}  // namespace freehca::model
