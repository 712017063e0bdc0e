// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/memory_region.hpp>

namespace freehca {

using namespace layouts;

namespace {

status check(const memory_region_attributes& a, const capabilities& c) {
  const unsigned log_page = a.pages.log2_page_bytes();
  if (log_page < 12 || log_page < c.log_smallest_page || log_page > 31)
    return driver_error::bad_argument;
  const std::uint64_t mask = (std::uint64_t{1} << log_page) - 1;
  if (a.pages.bytes() == 0 || a.pages.pages() == 0 ||
      a.virtual_address > ~std::uint64_t{0} - (a.pages.bytes() - 1) ||
      (a.virtual_address & mask) != a.pages.first_offset())
    return driver_error::bad_argument;
  if ((a.access.remote_write || a.access.remote_atomic) && !a.access.local_write)
    return driver_error::bad_argument;
  for (std::size_t i = 0; i < a.pages.pages(); ++i)
    if ((a.pages.page(i) & mask) != 0) return driver_error::bad_argument;
  return {};
}

image<mpt> entry_for(const memory_region_attributes& a, std::uint32_t key, std::uint32_t pd,
                     std::uint64_t mtt) {
  image<mpt> e;
  // As Linux does it (mr.c mlx4_mr_enable).
  e.set<&mpt::status>(mpt_status::software).set<&mpt::mio>(true).set<&mpt::region>(true);
  e.set<&mpt::local_read>(true)
      .set<&mpt::local_write>(a.access.local_write)
      .set<&mpt::remote_read>(a.access.remote_read)
      .set<&mpt::remote_write>(a.access.remote_write)
      .set<&mpt::atomic>(a.access.remote_atomic);
  e.set<&mpt::mem_key>(mpt_key_of(key)).set<&mpt::pd>(pd);
  e.set<&mpt::enable_invalidate>(true).set<&mpt::remote_invalidate>(true);
  e.set<&mpt::start>(a.virtual_address).set<&mpt::length>(a.pages.bytes());
  e.set<&mpt::mtt_addr>(mtt).set<&mpt::entity_size>(a.pages.log2_page_bytes());
  return e;
}

}  // namespace

status memory_region::build(verbs& in, const attributes& a, creation<creating>& to) {
  protection_domain* const domain = in.find(a.pd);
  FREEHCA_TRY(verbs::usable(domain));
  device& adapter = in.adapter();
  FREEHCA_TRY(check(a, adapter.capabilities()));
  use(*domain);
  FREEHCA_TRY(in.take_number(*this));
  FREEHCA_TRY(in.take_translations(*this, a.pages.pages()));
  key = adapter.numbers().keys.next(number, adapter.capabilities().reserved_lkey);
  to.command.aim(number);
  to.command.input =
      entry_for(a, key, domain->number, adapter.contexts().translation_offset(translations));
  to.pages = a.pages;
  return {};
}

}  // namespace freehca
