// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ethernet/module_query.hpp>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/device.hpp>

namespace freehca {

void module_query::start(device& adapter, unsigned port, const module_part& what) {
  using layouts::smp;
  using l = layouts::module_info;
  if (!startable()) return;
  refused_attribute& note = adapter.refused_;
  status s = adapter.check_ethernet(port);
  if (s.ok()) s = note.check(attribute_id::module_bytes, what.bytes, l{}.data.length, 1);
  if (s.ok())
    s = note.check(attribute_id::module_offset, what.offset,
                   layouts::module_page_bytes - what.bytes);
  if (!begin_checked(adapter.control_.reactor, s, &answered)) return;
  prepare(port, layouts::smp_attribute::module_info);
  const auto request = layouts::image<l>()
                           .set<&l::i2c_address>(what.i2c_address)
                           .set<&l::page>(what.page)
                           .set<&l::address>(what.offset)
                           .set<&l::size>(what.bytes);
  __builtin_memcpy(mad_.input.data() + layouts::row_of<&smp::data>.offset, request.data(),
                   l::bytes);
  send(adapter.commands());
}

}  // namespace freehca
