// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/fast_memory_region.hpp>

#include <freehca/queues/memory_requests.hpp>

namespace freehca {

using namespace layouts;

std::uint32_t fast_memory_region::next_key() {
  // The table of used keys has the keys of other objects in the same cache line. The region
  // therefore counts its keys itself, and no other owner's memory access waits.
  return key = memory_keys::following(key, owner->adapter().capabilities().reserved_lkey);
}

status fast_memory_region::plan(verbs& in, const attributes& a, creation<creating>& to) {
  protection_domain* const domain = in.find(a.pd);
  FREEHCA_TRY(verbs::usable(domain));
  const capabilities& can = in.adapter().capabilities();
  if (!can.has(bmme_flag::fast_register) || !can.has(bmme_flag::local_invalidate))
    return driver_error::unsupported;
  constexpr auto most = queues::most_registered_pages;
  FREEHCA_TRY(in.refused().check(attribute_id::fast_pages, a.most_pages, most, 1));
  use(*domain);
  // The entry is set as in Linux (6.1 mr.c mlx4_mr_enable). A registration sets the address range
  // and the access rights.
  image<mpt>& e = to.command.input = {};
  e.set<&mpt::status>(mpt_status::free).set<&mpt::mio>(true).set<&mpt::region>(true);
  e.set<&mpt::pd>(domain->number).set<&mpt::mtt_size>(a.most_pages);
  e.set<&mpt::enable_invalidate>(true)
      .set<&mpt::remote_invalidate>(true)
      .set<&mpt::fast_register_enable>(true)
      .set<&mpt::remote_access_enable>(true);
  translation_count = a.most_pages;
  return {};
}

void fast_memory_region::suspend() {
  if (key != 0) owner->adapter().numbers().keys.used_up_to(key);
}

}  // namespace freehca
