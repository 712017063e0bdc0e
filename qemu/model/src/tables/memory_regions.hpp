// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/wqe.hpp>

#include "basis/configuration.hpp"
#include "basis/counters.hpp"
#include "basis/host_memory.hpp"
#include "basis/rule_book.hpp"
#include "basis/work_account.hpp"
#include "saving/fields.hpp"
#include "tables/tpt_cache.hpp"

namespace freehca::model {

class icm;

/// The largest page of a region or buffer, as no driver asks for more. No source: chosen.
inline constexpr unsigned log_most_page_bytes = 31;

enum class access : std::uint8_t {
  local_read,
  local_write,
  remote_read,
  remote_write,
  remote_atomic,
  bind
};

enum class access_result : std::uint8_t {
  ok,
  bad_key,  ///< no such MPT, not in hardware's hands, or key byte differs
  bad_pd,
  bad_permission,
  out_of_bounds,
  not_present,  ///< MTT entry not present, ICM not mapped
  bus_refused,
  unfinished,  ///< fast_register: there is more to do
};

/// What is wrong, in words.
constexpr const char* name_of(access_result r) {
  switch (r) {
    case access_result::ok:
      return "nothing is wrong";
    case access_result::bad_key:
      return "a key that names no region or window of that kind in hardware's hands";
    case access_result::bad_pd:
      return "of another protection domain or queue pair";
    case access_result::bad_permission:
      return "the region does not give that right";
    case access_result::out_of_bounds:
      return "out of the region's bounds";
    case access_result::not_present:
      return "context memory or a translation is not there";
    case access_result::unfinished:
      return "it is not done yet";
    case access_result::bus_refused:
      break;
  }
  return "the bus refuses the address";
}

/// On whose behalf memory is touched: a protection domain, and the queue pair for windows that are
/// bound to one.
struct data_owner {
  std::uint32_t pd = 0;
  bool reserved_key_allowed = false;
  std::uint32_t qpn = 0;

  using saved =
      saving::fields<&data_owner::pd, &data_owner::reserved_key_allowed, &data_owner::qpn>;
};

/// A queue's buffer: pages found through MTTs from `mtt_base` (byte address within the MTT table,
/// as in contexts) on, each of 2^log_page_bytes bytes, the queue starting `page_offset` bytes into
/// the first.
struct queue_buffer {
  std::uint64_t mtt_base = 0;
  unsigned log_page_bytes = 12;
  std::uint32_t page_offset = 0;
};

/// Memory protection and translation: every access to host memory by key or through a queue's MTTs.
/// memory_commands has the commands. Of the tables in ICM no more is kept than tpt_cache says.
class memory_regions {
 public:
  memory_regions(const configuration& config, host_memory& memory, icm& contexts, rule_book& rules,
                 counter_registry& counters);

  /// Reads or writes `bytes` bytes at virtual address `at` under L_Key or R_Key `key`, for `owner`.
  /// A remote access may name a bound window. The whole range is checked before the first byte
  /// moves. bytes == 0 succeeds with no look at the key. The reserved L_Key (QUERY_FW/DEV_CAP
  /// `resd_lkey`) is allowed only where the owner's `reserved_key_allowed` says so: addresses are
  /// then bus addresses.
  access_result read(std::uint32_t key, const data_owner& owner, access kind, std::uint64_t at,
                     void* to, std::size_t bytes);
  access_result write(std::uint32_t key, const data_owner& owner, access kind, std::uint64_t at,
                      const void* from, std::size_t bytes);
  /// May a message of `bytes` bytes begin there, the first `now` of them with its first packet?
  /// Key, rights and bounds are judged for all of it, the translation only for what comes now: each
  /// further packet finds its own pages, so that no packet costs more than its size.
  access_result check(std::uint32_t key, const data_owner& owner, access kind, std::uint64_t at,
                      std::size_t bytes, std::size_t now);

  /// The memory management work requests (memory_operations.cpp). What comes back says why nothing
  /// was done: not_present and bus_refused are faults of memory, all others the request's own.
  access_result bind(const data_owner& owner, const layouts::image<layouts::wqe_bind>& wanted);
  /// Runs until a slice of `account` is over: unfinished until the page list is copied. `copied`:
  /// bytes of it moved; 0 at first.
  access_result fast_register(const data_owner& owner,
                              const layouts::image<layouts::wqe_fast_register>& wanted,
                              std::size_t& copied, const work_account& account);
  /// Takes the region or window of `key` out of use: by a work request, or (`remote`) by the peer's
  /// message.
  access_result invalidate(const data_owner& owner, std::uint32_t key, bool remote);

  /// A queue's bytes; false: MTT not present or bus refused.
  bool read_queue(const queue_buffer& where, std::uint64_t offset, void* to, std::size_t bytes);
  bool write_queue(const queue_buffer& where, std::uint64_t offset, const void* from,
                   std::size_t bytes);
  /// The same for an entry whose last bytes the host looks at first: they are written behind the
  /// others.
  bool write_entry(const queue_buffer& where, std::uint64_t offset, const void* from,
                   std::size_t bytes, std::size_t last);
  /// Entries may change from here on: a command runs.
  void forget_entries() { tpt_.forget(); }
  void clear();

  using entry = layouts::image<layouts::mpt>;
  /// The window gives up the region that it is bound to, if there is one. False: context memory is
  /// not there.
  bool release(entry& window);
  std::uint64_t entry_at(std::uint32_t index) const;

 private:
  /// A piece of host memory that is contiguous on the bus.
  struct run {
    std::uint64_t bus;
    std::size_t bytes;
  };

  static bool within(const entry& e, std::uint64_t at, std::uint64_t bytes);
  std::uint32_t index_of(std::uint32_t key) const;
  /// Whether drivers may use the index of `key`.
  bool has_entry(std::uint32_t key) const;
  /// The entry at that index, if its memory is there.
  std::optional<entry> load(std::uint32_t key) const;
  static bool is_valid(const entry& e, std::uint32_t key);
  /// The same when it is in hardware's hands, for that very key.
  std::optional<entry> valid(std::uint32_t key) const;
  /// The same, for an access: what is kept of it will do. Never for what is changed and written
  /// back.
  std::optional<entry> kept(std::uint32_t key);
  bool store(std::uint32_t index, const entry& e);
  /// Copies a fast registration's page list into the region's MTTs.
  access_result copy_page_list(const entry& region, std::uint64_t list, std::uint64_t pages,
                               std::size_t& copied, const work_account& account);

  /// Checks key, rights and bounds of [at, at + bytes), and fills runs_ with where its first `now`
  /// bytes are.
  access_result translate(std::uint32_t key, const data_owner& owner, access kind, std::uint64_t at,
                          std::size_t bytes, std::size_t now);
  /// Tells why an access was refused.
  void say_why(access_result refused, std::uint32_t key, const data_owner& owner, access kind,
               std::uint64_t at, std::size_t bytes) const;
  /// The same by what is kept, which may be out of date.
  access_result judge(std::uint32_t key, const data_owner& owner, access kind, std::uint64_t at,
                      std::size_t bytes, std::size_t now);
  /// The last step of it: fills runs_ from a region's translation.
  access_result place(const entry& region, std::uint64_t at, std::size_t now);
  /// Appends to runs_ the bytes [offset, offset + bytes) of a buffer whose pages are told by MTTs;
  /// `key`: of the region whose buffer it is, 0 for a queue.
  bool walk(std::uint32_t key, std::uint64_t mtt_offset, unsigned log_page_bytes,
            std::uint64_t offset, std::size_t bytes);
  /// Fills runs_ with the bus addresses of those bytes of a queue.
  bool find_in_queue(const queue_buffer& where, std::uint64_t offset, std::size_t bytes);

  const configuration& config_;
  const adapter_limits& limits_;
  const hca_profile& profile_;
  host_memory& memory_;
  icm& contexts_;
  rule_book& rules_;
  tpt_cache tpt_;
  std::uint64_t binds_ = 0, fast_registrations_ = 0, local_invalidations_ = 0,
                remote_invalidations_ = 0;
  std::vector<run> runs_;  ///< of the access at hand; kept to spare the allocation

 public:
  using saved =
      saving::fields<&memory_regions::tpt_, &memory_regions::binds_,
                     &memory_regions::fast_registrations_, &memory_regions::local_invalidations_,
                     &memory_regions::remote_invalidations_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"runs_", "each access fills it before it is read"}};
};

}  // namespace freehca::model
