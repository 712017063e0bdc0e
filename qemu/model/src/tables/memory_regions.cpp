// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tables/memory_regions.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <freehca/layouts/mtt.hpp>

#include "tables/icm.hpp"

namespace freehca::model {

using layouts::mpt;
using layouts::mpt_status;

namespace {

/// Entries read from ICM at a time.
constexpr std::size_t mtt_batch = 32;

const char* name_of(access kind) {
  switch (kind) {
    case access::local_read:
      return "local read";
    case access::local_write:
      return "local write";
    case access::remote_read:
      return "remote read";
    case access::remote_write:
      return "remote write";
    case access::remote_atomic:
      return "atomic";
    case access::bind:
      break;
  }
  return "bind";
}

bool permitted(const layouts::image<mpt>& e, access kind) {
  switch (kind) {
    case access::local_read:
      return e.get<&mpt::local_read>();
    case access::local_write:
      return e.get<&mpt::local_write>();
    case access::remote_read:
      return e.get<&mpt::remote_read>();
    case access::remote_write:
      return e.get<&mpt::remote_write>();
    case access::remote_atomic:
      return e.get<&mpt::atomic>();
    case access::bind:
      return e.get<&mpt::bind_enable>();
  }
  return false;
}

}  // namespace

memory_regions::memory_regions(const configuration& config, host_memory& memory, icm& contexts,
                               rule_book& rules, counter_registry& counters)
    : config_(config),
      limits_(config.limits()),
      profile_(config.profile()),
      memory_(memory),
      contexts_(contexts),
      rules_(rules) {
  counters.add("window_binds", binds_);
  counters.add("fast_registrations", fast_registrations_);
  counters.add("local_invalidations", local_invalidations_);
  counters.add("remote_invalidations", remote_invalidations_);
}

std::uint64_t memory_regions::entry_at(std::uint32_t index) const {
  return profile_.dmpt_base + std::uint64_t{index} * entry_bytes::dmpt;
}

bool memory_regions::within(const entry& e, std::uint64_t at, std::uint64_t bytes) {
  const std::uint64_t start = e.get<&mpt::start>(), length = e.get<&mpt::length>();
  return e.get<&mpt::len64>() ||
         (at >= start && at - start <= length && bytes <= length - (at - start));
}

bool memory_regions::walk(std::uint32_t key, std::uint64_t mtt_offset, unsigned log_page_bytes,
                          std::uint64_t offset, std::size_t bytes) {
  if (log_page_bytes < limits_.log_least_page_bytes || log_page_bytes > log_most_page_bytes)
    return false;
  const std::uint64_t page_bytes = std::uint64_t{1} << log_page_bytes;
  std::array<std::byte, mtt_batch * layouts::mtt::bytes> batch;
  std::size_t have = 0, next = 0;
  std::uint64_t index = offset >> log_page_bytes;
  std::uint64_t in_page = offset & (page_bytes - 1);
  while (bytes > 0) {
    if (next == have) {
      const std::uint64_t pages = (in_page + bytes + page_bytes - 1) >> log_page_bytes;
      have = static_cast<std::size_t>(std::min<std::uint64_t>(pages, mtt_batch));
      next = 0;
      if (!tpt_.read(contexts_, key, profile_.mtt_base + mtt_offset + index * layouts::mtt::bytes,
                     batch.data(), have * layouts::mtt::bytes))
        return false;
      index += have;
    }
    const auto m =
        layouts::image<layouts::mtt>::from_bytes(batch.data() + next * layouts::mtt::bytes);
    ++next;
    if (!m.get<&layouts::mtt::present>()) return false;
    const std::uint64_t bus = (m.get<&layouts::mtt::ptag>() & ~(page_bytes - 1)) + in_page;
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, page_bytes - in_page));
    if (!runs_.empty() && runs_.back().bus + runs_.back().bytes == bus) runs_.back().bytes += now;
    else runs_.push_back({bus, now});
    bytes -= now;
    in_page = 0;
  }
  return true;
}

std::uint32_t memory_regions::index_of(std::uint32_t key) const {
  return layouts::mpt_key_of(key) & ((1u << profile_.log_mpts) - 1);
}

bool memory_regions::has_entry(std::uint32_t key) const {
  return profile_.running && index_of(key) >= limits_.reserved_mpts();
}

std::optional<memory_regions::entry> memory_regions::load(std::uint32_t key) const {
  if (!has_entry(key)) return std::nullopt;
  return contexts_.load<mpt>(entry_at(index_of(key)));
}

bool memory_regions::is_valid(const entry& e, std::uint32_t key) {
  return e.get<&mpt::status>() == mpt_status::hardware &&
         e.get<&mpt::mem_key>() == layouts::mpt_key_of(key);
}

std::optional<memory_regions::entry> memory_regions::valid(std::uint32_t key) const {
  const auto e = load(key);
  return e && is_valid(*e, key) ? e : std::nullopt;
}

std::optional<memory_regions::entry> memory_regions::kept(std::uint32_t key) {
  entry e;
  if (!has_entry(key) || !tpt_.read(contexts_, 0, entry_at(index_of(key)), e.data(), e.size()) ||
      !is_valid(e, key))
    return std::nullopt;
  return e;
}

access_result memory_regions::translate(std::uint32_t key, const data_owner& owner, access kind,
                                        std::uint64_t at, std::size_t bytes, std::size_t now) {
  const access_result by_what_is_kept = judge(key, owner, kind, at, bytes, now);
  if (by_what_is_kept == access_result::ok) return access_result::ok;
  // What is kept may allow, and never refuses: a driver may change an entry without a word to the
  // adapter.
  forget_entries();
  const access_result by_what_is_true = judge(key, owner, kind, at, bytes, now);
  if (by_what_is_true != access_result::ok) say_why(by_what_is_true, key, owner, kind, at, bytes);
  return by_what_is_true;
}

void memory_regions::say_why(access_result refused, std::uint32_t key, const data_owner& owner,
                             access kind, std::uint64_t at, std::size_t bytes) const {
  const auto e = load(key);
  char what[160];
  std::snprintf(what, sizeof what, "%s of %zu bytes at 0x%llx under key 0x%x", name_of(kind), bytes,
                static_cast<unsigned long long>(at), key);
  switch (refused) {
    case access_result::ok:
    case access_result::unfinished:
      return;
    case access_result::bad_key:
      if (key == limits_.reserved_lkey)
        rules_.because("%s: the reserved key, and the queue pair has no right to it", what);
      else if (!e) rules_.because("%s: there is no entry %u", what, index_of(key));
      else
        rules_.because(
            "%s: entry %u is %s and has key 0x%x", what, index_of(key),
            e->get<&mpt::status>() == mpt_status::hardware ? "hardware's" : "not hardware's",
            layouts::key_of_mpt(static_cast<std::uint32_t>(e->get<&mpt::mem_key>())));
      return;
    case access_result::bad_pd:
      rules_.because(
          "%s: the key's protection domain is %u, of QP %u if it is bound; wanted: %u, "
          "QP %u",
          what, e ? static_cast<unsigned>(e->get<&mpt::pd>()) : 0,
          e ? static_cast<unsigned>(e->get<&mpt::qpn>()) : 0, owner.pd, owner.qpn);
      return;
    case access_result::bad_permission:
      rules_.because("%s: the key does not give that right", what);
      return;
    case access_result::out_of_bounds:
      rules_.because("%s: the key covers 0x%llx bytes at 0x%llx", what,
                     e ? static_cast<unsigned long long>(e->get<&mpt::length>()) : 0,
                     e ? static_cast<unsigned long long>(e->get<&mpt::start>()) : 0);
      return;
    case access_result::not_present:
      rules_.because(
          "%s: its translation is not there: an MTT that is not present, or context "
          "memory that is not mapped",
          what);
      return;
    case access_result::bus_refused:
      break;
  }
  rules_.because("%s: the bus refuses it", what);
}

access_result memory_regions::judge(std::uint32_t key, const data_owner& owner, access kind,
                                    std::uint64_t at, std::size_t bytes, std::size_t now) {
  runs_.clear();
  if (bytes == 0) return access_result::ok;
  if (key == limits_.reserved_lkey) {
    if (!owner.reserved_key_allowed || !config_.offers(capability::reserved_lkey))
      return access_result::bad_key;
    runs_.push_back({at, now});
    return access_result::ok;
  }
  const auto e = kept(key);
  if (!e) return access_result::bad_key;
  if (e->get<&mpt::pd>() != owner.pd) return access_result::bad_pd;
  const bool window = !e->get<&mpt::region>();
  if (window) {
    const bool local = kind == access::local_read || kind == access::local_write;
    if (local || e->get<&mpt::lkey>() == 0) return access_result::bad_key;
    // Type 2B: for the queue pair that bound it alone (IBTA vol. 1, 10.6.7.2.2; rxe_mw.c
    // rxe_lookup_mw).
    if (e->get<&mpt::bqp>() && e->get<&mpt::qpn>() != owner.qpn) return access_result::bad_pd;
  }
  if (!permitted(*e, kind)) return access_result::bad_permission;
  if (!within(*e, at, bytes)) return access_result::out_of_bounds;
  if (!window) return place(*e, at, now);
  const auto region = kept(static_cast<std::uint32_t>(e->get<&mpt::lkey>()));
  if (!region || !region->get<&mpt::region>()) return access_result::bad_key;
  return within(*region, at, bytes) ? place(*region, at, now) : access_result::out_of_bounds;
}

access_result memory_regions::place(const entry& region, std::uint64_t at, std::size_t now) {
  if (region.get<&mpt::physical>()) {
    runs_.push_back({at, now});
    return access_result::ok;
  }
  const auto log_page = static_cast<unsigned>(region.get<&mpt::entity_size>());
  if (log_page < limits_.log_least_page_bytes || log_page > log_most_page_bytes)
    return access_result::not_present;
  // The region starts where its first byte lies within the first page: the low bits of `start`, or
  // what first_byte_offset says.
  const std::uint64_t start = region.get<&mpt::start>();
  const std::uint64_t page_mask = (std::uint64_t{1} << log_page) - 1;
  const std::uint64_t first =
      region.get<&mpt::fbo_en>() ? region.get<&mpt::first_byte_offset>() : start & page_mask;
  const auto key = static_cast<std::uint32_t>(region.get<&mpt::mem_key>());
  return walk(key, region.get<&mpt::mtt_addr>(), log_page, first + (at - start), now)
             ? access_result::ok
             : access_result::not_present;
}

access_result memory_regions::read(std::uint32_t key, const data_owner& owner, access kind,
                                   std::uint64_t at, void* to, std::size_t bytes) {
  const access_result r = translate(key, owner, kind, at, bytes, bytes);
  if (r != access_result::ok) return r;
  const host_memory::about what(memory_, {dma_kind::data, key});
  auto* p = static_cast<std::byte*>(to);
  for (const run& one : runs_) {
    if (!memory_.read(one.bus, p, one.bytes)) {
      say_why(access_result::bus_refused, key, owner, kind, at, bytes);
      return access_result::bus_refused;
    }
    p += one.bytes;
  }
  return r;
}

access_result memory_regions::write(std::uint32_t key, const data_owner& owner, access kind,
                                    std::uint64_t at, const void* from, std::size_t bytes) {
  const access_result r = translate(key, owner, kind, at, bytes, bytes);
  if (r != access_result::ok) return r;
  const host_memory::about what(memory_, {dma_kind::data, key});
  const auto* p = static_cast<const std::byte*>(from);
  for (const run& one : runs_) {
    if (!memory_.write(one.bus, p, one.bytes)) {
      say_why(access_result::bus_refused, key, owner, kind, at, bytes);
      return access_result::bus_refused;
    }
    p += one.bytes;
  }
  return r;
}

access_result memory_regions::check(std::uint32_t key, const data_owner& owner, access kind,
                                    std::uint64_t at, std::size_t bytes, std::size_t now) {
  return translate(key, owner, kind, at, bytes, std::min(now, bytes));
}

bool memory_regions::find_in_queue(const queue_buffer& where, std::uint64_t offset,
                                   std::size_t bytes) {
  const auto found = [&] {
    runs_.clear();
    return walk(0, where.mtt_base, where.log_page_bytes, where.page_offset + offset, bytes);
  };
  if (found()) return true;
  // As for regions: what is kept never refuses.
  forget_entries();
  return found();
}

bool memory_regions::read_queue(const queue_buffer& where, std::uint64_t offset, void* to,
                                std::size_t bytes) {
  if (!find_in_queue(where, offset, bytes)) return false;
  auto* p = static_cast<std::byte*>(to);
  for (const run& one : runs_) {
    if (!memory_.read(one.bus, p, one.bytes)) return false;
    p += one.bytes;
  }
  return true;
}

bool memory_regions::write_queue(const queue_buffer& where, std::uint64_t offset, const void* from,
                                 std::size_t bytes) {
  if (!find_in_queue(where, offset, bytes)) return false;
  const auto* p = static_cast<const std::byte*>(from);
  for (const run& one : runs_) {
    if (!memory_.write(one.bus, p, one.bytes)) return false;
    p += one.bytes;
  }
  return true;
}

bool memory_regions::write_entry(const queue_buffer& where, std::uint64_t offset, const void* from,
                                 std::size_t bytes, std::size_t last) {
  const auto* const p = static_cast<const std::byte*>(from);
  const std::size_t before = bytes - last;
  if (!find_in_queue(where, offset, bytes)) return false;
  if (runs_.size() != 1)
    return write_queue(where, offset, p, before) &&
           write_queue(where, offset + before, p + before, last);
  const std::uint64_t bus = runs_.front().bus;
  return memory_.write(bus, p, before) && memory_.write(bus + before, p + before, last);
}

void memory_regions::clear() {
  forget_entries();
  runs_.clear();
}

}  // namespace freehca::model
