// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tables/icm.hpp"

#include <algorithm>
#include <array>

#include <freehca/layouts/map.hpp>

#include "basis/adapter_limits.hpp"
#include "command/command_checks.hpp"

namespace freehca::model {

namespace {

constexpr unsigned page_shift = layouts::icm_page_shift;
constexpr std::uint64_t page_bytes = layouts::icm_page_size;

using layouts::command_status;
using ull = unsigned long long;

// A guest that maps single pages for ever must not grow the host without bound. A driver that lends
// 4 KB pieces only reaches this at 4 GB of context memory.
constexpr std::size_t max_extents = 1u << 20;

using chunk = std::array<std::byte, fill_bytes>;

constexpr chunk make_pattern() {
  chunk c{};
  for (std::size_t i = 0; i < c.size(); i += 4) layouts::store_be(c.data() + i, lent_pattern);
  return c;
}

const chunk& pattern() {
  static const chunk c = make_pattern();
  return c;
}

}  // namespace

bool fill_with_pattern(host_memory& memory, std::uint64_t address, std::size_t bytes) {
  const host_memory::about what(memory, {dma_kind::lent_memory});
  return memory.write(address, pattern().data(), bytes);
}

icm::icm(const configuration& config, host_memory& memory, work_account& account, kept_memory& kept,
         counter_registry& counters)
    : limits_(config.limits()),
      profile_(config.profile()),
      memory_(memory),
      account_(account),
      kept_(kept) {
  forget_found();
  kept.add_objects(bytes_each, [this] { return extents_.size(); });
  counters.add("icm_pages", pages_mapped_);
  const hca_profile& p = profile_;
  const auto table = [this, &counters](const char* name, auto base, auto size) {
    counters.add(std::string("icm_pages_") + name,
                 [this, base, size] { return profile_.running ? pages_in(base(), size()) : 0; });
  };
  const auto times = [](unsigned log, std::size_t entry) {
    return (std::uint64_t{1} << log) * entry;
  };
  table(
      "qpc", [&p] { return p.qpc_base; },
      [&p, times] { return times(p.log_qps, entry_bytes::qpc); });
  table(
      "rdmarc", [&p] { return p.rdmarc_base; },
      [&p, times] { return times(p.log_qps + p.log_rd_per_qp, entry_bytes::rdmarc); });
  table(
      "altc", [&p] { return p.altc_base; },
      [&p, times] { return times(p.log_qps, entry_bytes::altc); });
  table(
      "auxc", [&p] { return p.auxc_base; },
      [&p, times] { return times(p.log_qps, entry_bytes::auxc); });
  table(
      "srqc", [&p] { return p.srqc_base; },
      [&p, times] { return times(p.log_srqs, entry_bytes::srqc); });
  table(
      "cqc", [&p] { return p.cqc_base; },
      [&p, times] { return times(p.log_cqs, entry_bytes::cqc); });
  table(
      "eqc", [&p] { return p.eqc_base; },
      [&p, times] { return times(p.log_eqs, entry_bytes::eqc); });
  table(
      "dmpt", [&p] { return p.dmpt_base; },
      [&p, times] { return times(p.log_mpts, entry_bytes::dmpt); });
  table(
      "cmpt", [&p] { return p.cmpt_base; }, [] { return layouts::cmpt_bytes(entry_bytes::cmpt); });
  table(
      "mcg", [&p] { return p.mc_base; },
      [&p] { return std::uint64_t{1} << (p.log_mc_table + p.log_mc_entry_bytes); });
  // INIT_HCA does not tell where the MTT table ends: it is what no other table claims.
  table(
      "mtt", [&p] { return p.mtt_base; },
      [this, &p] {
        std::uint64_t end = limits_.icm_bytes;
        for (const std::uint64_t base :
             {p.qpc_base, p.rdmarc_base, p.altc_base, p.auxc_base, p.srqc_base, p.cqc_base,
              p.eqc_base, p.cmpt_base, p.dmpt_base, p.mc_base})
          if (base > p.mtt_base) end = std::min(end, base);
        return end - p.mtt_base;
      });
}

const char* icm::broken_invariant() const {
  const std::uint64_t pages = limits_.icm_bytes >> page_shift;
  std::uint64_t end = 0;
  for (const auto& [first, e] : extents_) {
    if (first < end) return "no page of context memory is lent twice";
    if (e.pages == 0 || first >= pages || e.pages > pages - first)
      return "an extent has pages of context memory";
    end = first + e.pages;
  }
  return nullptr;
}

icm::extents::const_iterator icm::containing(std::uint64_t page) const {
  const auto has_page = [&](extents::const_iterator e) {
    return page - e->first < e->second.pages;  // a page before the first wraps, and is above
  };
  extents::const_iterator& last = found_[page % found_.size()];
  if (last != extents_.end() && has_page(last)) return last;
  auto next = extents_.upper_bound(page);
  if (next == extents_.begin()) return extents_.end();
  --next;
  if (!has_page(next)) return extents_.end();
  return last = next;
}

template <class Move>
bool icm::move(std::uint64_t at, std::size_t bytes, Move&& one) {
  if (at >= limits_.icm_bytes || bytes > limits_.icm_bytes - at) return false;
  while (bytes > 0) {
    const auto e = containing(at >> page_shift);
    if (e == extents_.end()) return false;
    const std::uint64_t offset = at - (e->first << page_shift);
    const auto now = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes, (e->second.pages << page_shift) - offset));
    if (!one(e->second.bus + offset, now)) return false;
    at += now;
    bytes -= now;
  }
  return true;
}

bool icm::read(std::uint64_t at, void* to, std::size_t bytes) {
  const host_memory::about what(memory_, {dma_kind::context_memory, at});
  auto* p = static_cast<std::byte*>(to);
  return move(at, bytes, [&](std::uint64_t bus, std::size_t now) {
    const bool ok = memory_.read(bus, p, now);
    p += now;
    return ok;
  });
}

bool icm::write(std::uint64_t at, const void* from, std::size_t bytes) {
  const host_memory::about what(memory_, {dma_kind::context_memory, at});
  const auto* p = static_cast<const std::byte*>(from);
  return move(at, bytes, [&](std::uint64_t bus, std::size_t now) {
    const bool ok = memory_.write(bus, p, now);
    p += now;
    return ok;
  });
}

bool icm::mapped(std::uint64_t at, std::size_t bytes) const {
  if (bytes == 0) return true;
  if (at >= limits_.icm_bytes || bytes > limits_.icm_bytes - at) return false;
  const std::uint64_t last = (at + bytes - 1) >> page_shift;
  for (std::uint64_t page = at >> page_shift; page <= last;) {
    const auto e = containing(page);
    if (e == extents_.end()) return false;
    page = e->first + e->second.pages;
  }
  return true;
}

bool icm::control_entry_mapped(layouts::cmpt_type type, std::uint32_t number) const {
  return mapped(profile_.cmpt_base + layouts::cmpt_offset(type, number, entry_bytes::cmpt),
                entry_bytes::cmpt);
}

std::uint64_t icm::pages_in(std::uint64_t at, std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  const std::uint64_t first = at >> page_shift, end = (at + bytes + page_bytes - 1) >> page_shift;
  std::uint64_t sum = 0;
  auto e = extents_.upper_bound(first);
  if (e != extents_.begin()) --e;
  for (; e != extents_.end() && e->first < end; ++e) {
    const std::uint64_t low = std::max(e->first, first),
                        high = std::min(e->first + e->second.pages, end);
    if (high > low) sum += high - low;
  }
  return sum;
}

icm::extents::const_iterator icm::first_from(std::uint64_t page) const {
  const auto e = containing(page);
  return e != extents_.end() ? e : extents_.lower_bound(page);
}

bool icm::any_mapped(std::uint64_t va, std::uint64_t pages) const {
  const auto e = first_from(va >> page_shift);
  return e != extents_.end() && e->first < (va >> page_shift) + pages;
}

/// There is room for one more extent.
void icm::check_room(command_checks& is) const {
  is.must(extents_.size() < max_extents, rule::objects_at_once, command_status::exceeds_limits,
          "%zu pieces of context memory are lent; at most %zu", extents_.size(), max_extents)
      .host_memory(kept_, bytes_each);
}

bool icm::may_map(command_checks& is, std::uint64_t va, std::uint64_t pages) const {
  const bool fits = va < limits_.icm_bytes && pages <= (limits_.icm_bytes - va) >> page_shift;
  is.that(fits, rule::icm_range, command_status::exceeds_limits,
          "va 0x%llx with 0x%llx pages; context memory has 0x%llx bytes", ull{va}, ull{pages},
          ull{limits_.icm_bytes});
  check_room(is);
  is.that(!fits || !any_mapped(va, pages), rule::icm_page_free, command_status::bad_parameter,
          "va 0x%llx: of its 0x%llx pages some are lent already", ull{va}, ull{pages});
  return fits && !is.refused();
}

bool icm::map(command_checks& is, std::uint64_t va, std::uint64_t pa, std::uint64_t pages) {
  check_room(is);
  const std::uint64_t first = va >> page_shift;
  split_at(is, first);
  split_at(is, first + pages);
  if (is.refused()) return false;
  forget_found();
  // What another command has lent there meanwhile goes.
  pages_mapped_ += pages - pages_in(va, pages << page_shift);
  extents_.erase(extents_.lower_bound(first), extents_.lower_bound(first + pages));
  extents_.emplace(first, extent{pages, pa});
  return true;
}

/// Makes `page` the first page of an extent, when it is mapped.
void icm::split_at(command_checks& is, std::uint64_t page) {
  const auto e = containing(page);
  if (e == extents_.end() || e->first == page) return;
  is.must(extents_.size() < max_extents + 2, rule::objects_at_once, command_status::exceeds_limits,
          "%zu pieces of context memory are lent; at most %zu", extents_.size(), max_extents + 2)
      .host_memory(kept_, bytes_each);
  if (is.refused()) return;
  const std::uint64_t head = page - e->first;
  forget_found();
  const extent tail{e->second.pages - head, e->second.bus + (head << page_shift)};
  extents_[e->first].pages = head;
  extents_.emplace(page, tail);
}

bool icm::may_unmap(command_checks& is, std::uint64_t va, std::uint64_t pages) const {
  const bool fits = va < limits_.icm_bytes && pages <= (limits_.icm_bytes - va) >> page_shift;
  is.that(va % page_bytes == 0, rule::chunk_alignment, command_status::bad_parameter,
          "immediate 0x%llx is no address of a page", ull{va})
      .that(pages != 0, rule::icm_page_lent, command_status::bad_parameter,
            "input modifier: no page")
      .that(fits, rule::icm_range, command_status::bad_parameter,
            "immediate 0x%llx with 0x%llx pages; context memory has 0x%llx bytes", ull{va},
            ull{pages}, ull{limits_.icm_bytes});
  if (is.refused() || pages == 0 || !fits) return false;
  // Linux takes back its tables in whole chunks, also where it lent less (icm.c
  // mlx4_cleanup_icm_table): pages that are not mapped are passed over.
  is.that(any_mapped(va, pages), rule::icm_page_lent, command_status::bad_parameter,
          "immediate 0x%llx: none of 0x%llx pages is lent", ull{va}, ull{pages});
  return !is.refused();
}

bool icm::unmap(command_checks& is, std::uint64_t va, std::uint64_t pages) {
  const std::uint64_t first = va >> page_shift;
  split_at(is, first);
  split_at(is, first + pages);
  if (is.refused()) return true;
  forget_found();
  auto e = extents_.lower_bound(first);
  while (e != extents_.end() && e->first < first + pages) {
    pages_mapped_ -= e->second.pages;
    e = extents_.erase(e);
    account_.charge(work_account::entry);
    if (account_.slice_over() && e != extents_.end() && e->first < first + pages) return false;
  }
  return true;
}

bool icm::zero(std::uint64_t& at, std::uint64_t end) {
  static const chunk zeros{};
  const host_memory::about what(memory_, {dma_kind::lent_memory});
  const std::uint64_t last = std::min(end, limits_.icm_bytes);
  for (auto e = first_from(at >> page_shift); e != extents_.end(); ++e) {
    const std::uint64_t base = e->first << page_shift;
    const std::uint64_t high = std::min(base + (e->second.pages << page_shift), last);
    for (at = std::max(base, at); at < high;) {
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(high - at, fill_bytes));
      if (!memory_.write(e->second.bus + (at - base), zeros.data(), now)) return false;
      at += now;
      if (account_.slice_over() && at < last) return true;
    }
    if (at >= last) break;
  }
  at = end;
  return true;
}

void icm::clear(scheduler& work) {
  work.discard(extents_);
  forget_found();
  pages_mapped_ = 0;
}

}  // namespace freehca::model
