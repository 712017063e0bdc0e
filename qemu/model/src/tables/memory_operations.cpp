// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What work requests do to regions and windows: bind, fast registration, invalidation. The rules
// are those of IBTA vol. 1, 10.6.6 and 10.6.7 (memory management extensions), read through Linux
// sw/rxe/rxe_mw.c and rxe_mr.c.
#include <algorithm>
#include <array>

#include <freehca/layouts/mtt.hpp>

#include "basis/limits.hpp"
#include "tables/icm.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

using layouts::mpt;
using layouts::mpt_status;

namespace {

/// The widest count of windows in an entry.
constexpr std::uint64_t windows_max = 0xffffff;

}  // namespace

bool memory_regions::store(std::uint32_t index, const entry& e) {
  forget_entries();
  return contexts_.store(entry_at(index), e);
}

bool memory_regions::release(entry& window) {
  const auto lkey = static_cast<std::uint32_t>(window.get<&mpt::lkey>());
  window.set<&mpt::lkey>(0).set<&mpt::start>(0).set<&mpt::length>(0).set<&mpt::qpn>(0);
  if (lkey == 0) return true;
  // A driver may have changed the region's entry in between: then there is nothing to count down.
  auto region = valid(lkey);
  if (!region || !region->get<&mpt::region>() || region->get<&mpt::win_cnt>() == 0) return true;
  region->set<&mpt::win_cnt>(region->get<&mpt::win_cnt>() - 1);
  return store(index_of(lkey), *region);
}

access_result memory_regions::bind(const data_owner& owner,
                                   const layouts::image<layouts::wqe_bind>& wanted) {
  using w = layouts::wqe_bind;
  const auto rkey = static_cast<std::uint32_t>(wanted.get<&w::new_rkey>());
  const auto lkey = static_cast<std::uint32_t>(wanted.get<&w::lkey>());
  const std::uint64_t address = wanted.get<&w::address>(), length = wanted.get<&w::length>();
  const bool type_2 = wanted.get<&w::type_2>();
  // The index names the window; the key's low byte is the consumer's to choose.
  auto window = load(rkey);
  if (!window || window->get<&mpt::region>() || window->get<&mpt::bqp>() != type_2 ||
      window->get<&mpt::status>() != (type_2 ? mpt_status::free : mpt_status::hardware))
    return access_result::bad_key;
  if (window->get<&mpt::pd>() != owner.pd) return access_result::bad_pd;
  // QUERY_DEV_CAP does not report zero-based windows.
  if (wanted.get<&w::zero_based>()) return access_result::bad_permission;
  // No length unbinds a window of type 1.
  if (length == 0 && type_2) return access_result::out_of_bounds;
  if (length != 0) {
    const auto region = valid(lkey);
    if (!region || !region->get<&mpt::region>()) return access_result::bad_key;
    if (region->get<&mpt::pd>() != owner.pd) return access_result::bad_pd;
    const bool writes = wanted.get<&w::remote_write>() || wanted.get<&w::atomic>();
    if (!region->get<&mpt::bind_enable>() || (writes && !region->get<&mpt::local_write>()))
      return access_result::bad_permission;
    if (!within(*region, address, length)) return access_result::out_of_bounds;
    if (region->get<&mpt::win_cnt>() == windows_max) return access_result::bad_key;
  }
  if (!release(*window)) return access_result::not_present;
  window->set<&mpt::status>(mpt_status::hardware).set<&mpt::mem_key>(layouts::mpt_key_of(rkey));
  if (length != 0) {
    auto region = valid(lkey);  // releasing may have changed its count
    if (!region) return access_result::not_present;
    region->set<&mpt::win_cnt>(region->get<&mpt::win_cnt>() + 1);
    if (!store(index_of(lkey), *region)) return access_result::not_present;
    window->set<&mpt::lkey>(lkey).set<&mpt::start>(address).set<&mpt::length>(length);
    window->set<&mpt::remote_read>(wanted.get<&w::remote_read>())
        .set<&mpt::remote_write>(wanted.get<&w::remote_write>())
        .set<&mpt::atomic>(wanted.get<&w::atomic>());
    if (type_2) window->set<&mpt::qpn>(owner.qpn);
  }
  if (!store(index_of(rkey), *window)) return access_result::not_present;
  ++binds_;
  return access_result::ok;
}

access_result memory_regions::fast_register(
    const data_owner& owner, const layouts::image<layouts::wqe_fast_register>& wanted,
    std::size_t& copied, const work_account& account) {
  using w = layouts::wqe_fast_register;
  const auto key = static_cast<std::uint32_t>(wanted.get<&w::mem_key>());
  auto region = load(key);
  if (!region || !region->get<&mpt::region>() || !region->get<&mpt::fast_register_enable>() ||
      region->get<&mpt::status>() != mpt_status::free)
    return access_result::bad_key;
  if (region->get<&mpt::pd>() != owner.pd) return access_result::bad_pd;
  const bool writes = wanted.get<&w::remote_write>() || wanted.get<&w::atomic>();
  const bool remote = writes || wanted.get<&w::remote_read>();
  if ((remote && !region->get<&mpt::remote_access_enable>()) ||
      (writes && !wanted.get<&w::local_write>()))
    return access_result::bad_permission;

  // An offset serves zero-based regions, which QUERY_DEV_CAP does not report (Linux qp.c
  // set_reg_seg leaves it 0).
  const auto log_page = static_cast<unsigned>(wanted.get<&w::log_page_size>());
  const std::uint64_t start = wanted.get<&w::start_address>(), length = wanted.get<&w::length>();
  if (log_page < 9 || length == 0 || start + (length - 1) < start ||
      wanted.get<&w::first_byte_offset>() != 0)
    return access_result::out_of_bounds;
  const std::uint64_t pages = ((start + (length - 1)) >> log_page) - (start >> log_page) + 1;
  if (pages > std::min<std::uint64_t>(region->get<&mpt::mtt_size>(), limits::fast_register_pages))
    return access_result::out_of_bounds;
  if (const access_result r =
          copy_page_list(*region, wanted.get<&w::page_list>(), pages, copied, account);
      r != access_result::ok)
    return r;

  region->set<&mpt::status>(mpt_status::hardware)
      .set<&mpt::mem_key>(layouts::mpt_key_of(key))
      .set<&mpt::start>(start)
      .set<&mpt::length>(length)
      .set<&mpt::len64>(false)
      .set<&mpt::fbo_en>(false)
      .set<&mpt::entity_size>(log_page);
  region->set<&mpt::local_read>(wanted.get<&w::local_read>())
      .set<&mpt::local_write>(wanted.get<&w::local_write>())
      .set<&mpt::remote_read>(wanted.get<&w::remote_read>())
      .set<&mpt::remote_write>(wanted.get<&w::remote_write>())
      .set<&mpt::atomic>(wanted.get<&w::atomic>());
  if (!store(index_of(key), *region)) return access_result::not_present;
  ++fast_registrations_;
  return access_result::ok;
}

access_result memory_regions::copy_page_list(const entry& region, std::uint64_t list,
                                             std::uint64_t pages, std::size_t& copied,
                                             const work_account& account) {
  forget_entries();
  std::array<std::byte, 4096> part;
  const host_memory::about what(memory_, {dma_kind::page_list, region.get<&mpt::mem_key>()});
  std::uint64_t to = profile_.mtt_base + region.get<&mpt::mtt_addr>();
  const std::uint64_t bytes = pages * layouts::mtt::bytes;
  list += copied;
  to += copied;
  while (copied < bytes) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - copied, part.size()));
    if (!memory_.read(list, part.data(), now)) return access_result::bus_refused;
    if (!contexts_.write(to, part.data(), now)) return access_result::not_present;
    list += now;
    to += now;
    copied += now;
    if (copied < bytes && account.slice_over()) return access_result::unfinished;
  }
  return access_result::ok;
}

access_result memory_regions::invalidate(const data_owner& owner, std::uint32_t key, bool remote) {
  // What is free already stays so: the rules forbid the invalid state alone.
  auto e = load(key);
  if (!e || e->get<&mpt::mem_key>() != layouts::mpt_key_of(key) ||
      (e->get<&mpt::status>() != mpt_status::hardware &&
       e->get<&mpt::status>() != mpt_status::free))
    return access_result::bad_key;
  if (e->get<&mpt::pd>() != owner.pd) return access_result::bad_pd;
  if (!(remote ? e->get<&mpt::remote_invalidate>() : e->get<&mpt::enable_invalidate>()))
    return access_result::bad_permission;
  if (e->get<&mpt::win_cnt>() != 0) return access_result::bad_permission;
  if (!e->get<&mpt::region>()) {
    // Type 1 is unbound by a bind of no length only (o10-37.2.26).
    if (!e->get<&mpt::bqp>()) return access_result::bad_key;
    if (e->get<&mpt::lkey>() != 0 && e->get<&mpt::qpn>() != owner.qpn) return access_result::bad_pd;
    if (!release(*e)) return access_result::not_present;
  }
  e->set<&mpt::status>(mpt_status::free);
  if (!store(index_of(key), *e)) return access_result::not_present;
  ++(remote ? remote_invalidations_ : local_invalidations_);
  return access_result::ok;
}

}  // namespace freehca::model
