// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/memory_region.hpp>

#include <freehca/hca/verbs.hpp>

namespace freehca {

using namespace layouts;

namespace {

status check(const memory_region_attributes& a, const capabilities& c) {
  const unsigned log_page = a.pages.log2_page_bytes();
  if (log_page < 12 || log_page < c.log_smallest_page || log_page > 31)
    return driver_error::bad_argument;
  const std::uint64_t mask = (std::uint64_t{1} << log_page) - 1;
  if (a.pages.bytes() == 0 || a.virtual_address > ~std::uint64_t{0} - a.pages.bytes() ||
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

void create_memory_region::start(verbs& owner, const memory_region_attributes& a) {
  if (!startable()) return;
  region_ = {};
  if (!owner.is_open() || !owner.on().up()) return refuse(owner, driver_error::bad_state);
  protection_domain* const domain = owner.domains_.find(a.pd);
  if (domain == nullptr) return refuse(owner, driver_error::stale_handle);
  if (const status s = check(a, owner.device_->capabilities()); !s.ok()) return refuse(owner, s);
  memory_region* const region = owner.regions_.take();
  if (region == nullptr)
    return refuse(owner, status(driver_error::no_resource,
                                static_cast<unsigned>(verbs_budget::item::memory_regions)));
  ++domain->users;
  region->group = context_group::mpt;
  region->pd = a.pd;
  status s = owner.take_number(*region, context_group::mpt);
  if (s.ok()) s = owner.take_translations(*region, a.pages.pages());
  if (!s.ok()) {
    owner.release(*region);
    return refuse(owner, s);
  }
  region->key = key_ = owner.device_->numbers().keys.next(
      region->number, owner.device_->capabilities().reserved_lkey);
  pages_ = a.pages;
  create_.restart();
  create_.aim(region->number);
  create_.input = entry_for(a, key_, domain->number,
                            owner.device_->contexts().translation_offset(region->translations));
  start_creation(owner, *region, &create_, &write_translations, &finished);
}

void create_memory_region::write_translations(object_operation& op) noexcept {
  auto& self = static_cast<create_memory_region&>(op);
  self.owner().write_translations(self.object(), self.pages_);
}

void create_memory_region::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<create_memory_region&>(op);
  if (outcome.ok())
    self.region_ = self.owner().regions_.handle_of(static_cast<memory_region&>(self.object()));
  else self.key_ = 0;
}

void destroy_memory_region::start(verbs& owner, mr_handle h) {
  if (!startable()) return;
  memory_region* const region = owner.regions_.find(h);
  if (const status s = verbs::check_usable(region); !s.ok()) return refuse(owner, s);
  start_destruction(owner, *region, nullptr);
}

void verbs::strip(memory_region& region) {
  if (region.number != object_record::none) device_->numbers().mpts.free(region.number);
  if (protection_domain* const domain = domains_.find(region.pd)) --domain->users;
  region.pd = {};
}

std::uint32_t verbs::key(mr_handle h) const {
  const memory_region* const region = regions_.find(h);
  return region != nullptr ? region->key : 0;
}

}  // namespace freehca
