// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/memory_region.hpp>

namespace freehca {

using namespace layouts;

namespace {

constexpr unsigned log_largest_page = 31;

/// Divides contiguous memory into larger pages, so that it needs fewer translation entries. The
/// page size is the smallest with which one page holds the memory. If device address and virtual
/// address differ in bit n, the page size is at most 2^n.
void enlarge_pages(page_list& pages, std::uint64_t virtual_address) {
  if (!pages.is_contiguous()) return;
  const std::uint64_t first = pages.page(0) + pages.first_offset();
  const std::uint64_t last = first + pages.bytes() - 1;
  unsigned log = pages.log2_page_bytes();
  while (log < log_largest_page && (first >> log & 1) == (virtual_address >> log & 1) &&
         first >> log != last >> log)
    ++log;
  pages = {dma_region{nullptr, first, static_cast<std::size_t>(pages.bytes())}, log};
}

/// Checks the list, and enlarges its pages.
status check(page_list& pages, std::uint64_t virtual_address, const capabilities& c,
             refused_attribute& note) {
  using id = attribute_id;
  const unsigned log_page = pages.log2_page_bytes();
  FREEHCA_TRY(note.check(id::log_page_bytes, log_page, log_largest_page, c.log_smallest_page));
  const std::uint64_t mask = (std::uint64_t{1} << log_page) - 1;
  const std::uint64_t offset = pages.first_offset();
  // The number of pages has 32 bits.
  const std::uint64_t most_bytes = (std::uint64_t{0xffffffff} << log_page) - offset;
  FREEHCA_TRY(note.check(id::region_bytes, pages.bytes(), most_bytes, 1));
  FREEHCA_TRY(note.check(id::virtual_address, virtual_address, 0 - pages.bytes()));
  FREEHCA_TRY(note.check(id::virtual_offset, virtual_address & mask, offset, offset));
  enlarge_pages(pages, virtual_address);
  std::uint64_t offsets = 0;
  for (std::size_t i = 0; i < pages.pages(); ++i) offsets |= pages.page(i) & mask;
  return note.check(id::page_offset, offsets, 0);
}

constexpr auto access_fields =
    fields_of<mpt>(FREEHCA_FIELD(memory_access, local_write, &mpt::local_write),
                   FREEHCA_FIELD(memory_access, remote_read, &mpt::remote_read),
                   FREEHCA_FIELD(memory_access, remote_write, &mpt::remote_write),
                   FREEHCA_FIELD(memory_access, remote_atomic, &mpt::atomic),
                   FREEHCA_FIELD(memory_access, bind_windows, &mpt::bind_enable));

}  // namespace

status memory_access::write_to(image<mpt>& entry, refused_attribute& note) const {
  if ((remote_write || remote_atomic) && !local_write)
    return note.refuse(attribute_id::remote_rights, 1, 1);
  return store(access_fields, *this, entry, note);
}

image<mpt> memory_region::blank_entry(const protection_domain& domain) {
  // The fields are set as in Linux (mr.c mlx4_mr_enable).
  image<mpt> e = {};
  e.set<&mpt::status>(mpt_status::software).set<&mpt::mio>(true).set<&mpt::region>(true);
  e.set<&mpt::local_read>(true).set<&mpt::pd>(domain.number);
  e.set<&mpt::enable_invalidate>(true).set<&mpt::remote_invalidate>(true);
  return e;
}

status memory_region::map(verbs& in, const attributes& a, page_list& pages) {
  device& adapter = in.adapter();
  refused_attribute& note = in.refused();
  constexpr std::size_t page = dma_arena::page;
  using id = attribute_id;
  const auto first = reinterpret_cast<std::uintptr_t>(a.memory.first);
  constexpr std::uintptr_t last = ~std::uintptr_t{0} - 2 * page;
  FREEHCA_TRY(note.check(id::virtual_address, first, last, 1));
  FREEHCA_TRY(note.check(id::region_bytes, a.memory.bytes, last - first, 1));
  // Memory of the program replaces these.
  FREEHCA_TRY(note.check(id::region_bytes, a.pages.bytes(), 0));
  if (!a.relocated) FREEHCA_TRY(note.check(id::virtual_address, a.virtual_address, 0));
  // With the largest pages, it would still need more entries than the table has.
  if (a.memory.bytes >> log_largest_page >> adapter.opened_with().log_mtts != 0)
    return status(driver_error::no_resource, static_cast<unsigned>(budget::item::mtts));
  const std::size_t offset = first % page;
  const std::size_t bytes = (offset + a.memory.bytes + page - 1) & ~(page - 1);
  const platform& host = adapter.platform();
  const platform_operations& can = *host.operations;
  mapped_for_reading = !a.access.local_write && can.map_read_only_memory != nullptr;
  const auto how = mapped_for_reading ? can.map_read_only_memory : can.map_memory;
  if (how == nullptr || can.unmap_memory == nullptr) return driver_error::unsupported;
  mapped.host = a.memory.first - offset;
  FREEHCA_TRY(how(host.context, mapped.host, bytes, &mapped.device_address));
  mapped.bytes = bytes;
  pages = {mapped.part(offset, a.memory.bytes), adapter.capabilities().log_smallest_page};
  return {};
}

status memory_region::plan(verbs& in, const attributes& a, creation<creating>& to) {
  protection_domain* const domain = in.find(a.pd);
  FREEHCA_TRY(verbs::usable(domain));
  device& adapter = in.adapter();
  image<mpt>& e = to.command.input = blank_entry(*domain);
  FREEHCA_TRY(a.access.write_to(e, in.refused()));
  to.pages = a.pages;
  std::uint64_t virtual_address = a.virtual_address;
  if (a.memory.first != nullptr || a.memory.bytes != 0) {
    if (!a.relocated) virtual_address = reinterpret_cast<std::uintptr_t>(a.memory.first);
    FREEHCA_TRY(map(in, a, to.pages));
  }
  FREEHCA_TRY(check(to.pages, virtual_address, adapter.capabilities(), in.refused()));
  use(*domain);
  e.set<&mpt::start>(virtual_address).set<&mpt::length>(to.pages.bytes());
  e.set<&mpt::entity_size>(to.pages.log2_page_bytes());
  translation_count = static_cast<std::uint32_t>(to.pages.pages());
  return {};
}

status memory_region::build(verbs& in, const attributes&, creation<creating>& to) {
  device& adapter = in.adapter();
  key = adapter.numbers().keys.next(number, adapter.capabilities().reserved_lkey);
  to.command.aim(number);
  to.command.input.set<&mpt::mem_key>(mpt_key_of(key))
      .set<&mpt::mtt_addr>(adapter.contexts().translation_offset(translations));
  return {};
}

void memory_region::strip(verbs& in) {
  if (mapped.bytes == 0) return;
  const platform& host = in.adapter().platform();
  if (!host.operations->unmap_memory(host.context, mapped.device_address, mapped.bytes).ok())
    host.log({log_topic::region_stays_mapped, severity::error});
  mapped = {};
}

}  // namespace freehca
