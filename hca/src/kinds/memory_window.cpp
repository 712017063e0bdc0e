// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/memory_window.hpp>

namespace freehca {

using namespace layouts;

std::uint32_t memory_window::next_key() {
  return key = memory_keys::following(key, owner->adapter().capabilities().reserved_lkey);
}

status memory_window::plan(verbs& in, const attributes& a, creation<creating>& to) {
  protection_domain* const domain = in.find(a.pd);
  FREEHCA_TRY(verbs::usable(domain));
  const capabilities& can = in.adapter().capabilities();
  const bool type_2 = a.type == queues::window_type::two;
  // Bring-up enables windows if the device reports type 1.
  if (!can.has(dev_cap_flag::memory_window) ||
      (type_2 && !(can.has(bmme_flag::window_type_2) && can.has(bmme_flag::window_type_2b) &&
                   can.has(bmme_flag::local_invalidate))))
    return driver_error::unsupported;
  use(*domain);
  // The entry is set as in Linux (6.1 mr.c mlx4_mw_enable). A binding sets the address range and
  // the access rights.
  image<mpt>& e = to.command.input = {};
  e.set<&mpt::pd>(domain->number);
  if (type_2)
    e.set<&mpt::status>(mpt_status::free)
        .set<&mpt::bqp>(true)
        .set<&mpt::enable_invalidate>(true)
        .set<&mpt::remote_invalidate>(true);
  return {};
}

status memory_window::build(verbs& in, const attributes&, creation<creating>& to) {
  device& adapter = in.adapter();
  key = adapter.numbers().keys.next(number, adapter.capabilities().reserved_lkey);
  to.command.aim(number);
  to.command.input.set<&mpt::mem_key>(mpt_key_of(key));
  return {};
}

void memory_window::suspend() {
  if (key != 0) owner->adapter().numbers().keys.used_up_to(key);
}

}  // namespace freehca
