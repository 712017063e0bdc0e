// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/module_query.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

namespace freehca {

void module_query::start(device& adapter, unsigned port, const module_part& what) {
  using layouts::mad_ifc_modifier;
  using layouts::smp;
  using l = layouts::module_info;
  if (!startable()) return;
  refused_attribute& note = adapter.refused_;
  status s = adapter.check_ethernet(port);
  if (s.ok()) s = note.check(attribute_id::module_bytes, what.bytes, l{}.data.length, 1);
  if (s.ok())
    s = note.check(attribute_id::module_offset, what.offset,
                   layouts::module_page_bytes - what.bytes);
  if (!s.ok()) return adapter.control_.reactor.refuse(*this, s);
  begin_parts(&answered);
  adapter.control_.reactor.watch(*this);
  part(mad_).aim(std::uint32_t{port},
                 static_cast<std::uint32_t>(mad_ifc_modifier::ignore_mkey) |
                     static_cast<std::uint32_t>(mad_ifc_modifier::ignore_bkey));
  std::byte data[smp{}.data.length] = {};
  const auto request = layouts::image<l>()
                           .set<&l::i2c_address>(what.i2c_address)
                           .set<&l::page>(what.page)
                           .set<&l::address>(what.offset)
                           .set<&l::size>(what.bytes);
  __builtin_memcpy(data, request.data(), l::bytes);
  mad_.input = {};
  mad_.input.set<&smp::base_version>(layouts::mad_base_version)
      .set<&smp::mgmt_class>(layouts::mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(layouts::mad_method::get)
      .set<&smp::attribute_id>(static_cast<std::uint16_t>(layouts::smp_attribute::module_info))
      .set_bytes<&smp::data>(data);
  adapter.commands().submit(mad_);
}

}  // namespace freehca
