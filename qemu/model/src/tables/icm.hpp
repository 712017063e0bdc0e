// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include <freehca/layouts/cmpt.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>

#include "basis/configuration.hpp"
#include "basis/counters.hpp"
#include "basis/host_memory.hpp"
#include "basis/kept_memory.hpp"
#include "basis/scheduler.hpp"
#include "basis/work_account.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class command_checks;

/// The ICM address space: which pages of host memory stand behind the context tables. Contexts
/// stand in host memory, where hardware keeps them: nothing is cached here.
class icm {
 public:
  icm(const configuration& config, host_memory& memory, work_account& account, kept_memory& kept,
      counter_registry& counters);
  static constexpr std::size_t bytes_each = 96;  ///< that an extent takes

  /// Reads or writes ICM at virtual address `at`. False when a page is not mapped or the bus
  /// refuses; the caller reports that as hardware does.
  bool read(std::uint64_t at, void* to, std::size_t bytes);
  bool write(std::uint64_t at, const void* from, std::size_t bytes);
  bool mapped(std::uint64_t at, std::size_t bytes) const;

  template <class T>
  std::optional<layouts::image<T>> load(std::uint64_t at) {
    layouts::image<T> i;
    if (!read(at, i.data(), i.size())) return std::nullopt;
    return i;
  }
  template <class T>
  bool store(std::uint64_t at, const layouts::image<T>& i) {
    return write(at, i.data(), i.size());
  }

  /// Is the control entry (cMPT) of object `number` mapped? Hardware keeps its own protection state
  /// there and cannot take the object without it.
  bool control_entry_mapped(layouts::cmpt_type type, std::uint32_t number) const;

  /// May `pages` pages be mapped at ICM address `va` (page-aligned)? False when `is` has refused
  /// it, or it was taken and cannot be mapped.
  bool may_map(command_checks& is, std::uint64_t va, std::uint64_t pages) const;
  /// Maps bus memory at `pa` there, in the place of what was mapped there before. The caller has
  /// asked may_map(), and has overwritten it. False: no room.
  bool map(command_checks& is, std::uint64_t va, std::uint64_t pa, std::uint64_t pages);
  /// Is any page of these mapped?
  bool any_mapped(std::uint64_t va, std::uint64_t pages) const;
  /// May the `pages` pages from `va` on be taken back? As may_map().
  bool may_unmap(command_checks& is, std::uint64_t va, std::uint64_t pages) const;
  /// Takes back what is mapped of them, as far as a slice goes: false when there is more.
  bool unmap(command_checks& is, std::uint64_t va, std::uint64_t pages);
  /// Writes zeros to every mapped byte of [at, end) as far as a slice goes, and moves `at` on to
  /// where it goes on: to `end` when it is done. False: the bus refuses.
  bool zero(std::uint64_t& at, std::uint64_t end);

  /// Forgets everything lent (reset). `work` destroys it in turns to come.
  void clear(scheduler& work);

  std::uint64_t pages_mapped() const { return pages_mapped_; }
  /// Mapped pages that intersect [at, at + bytes).
  std::uint64_t pages_in(std::uint64_t at, std::uint64_t bytes) const;

 private:
  /// `pages` pages of ICM, contiguous on the bus from `bus` on.
  struct extent {
    std::uint64_t pages, bus;

    using saved = saving::fields<&extent::pages, &extent::bus>;
  };
  using extents = std::map<std::uint64_t, extent>;  // by ICM page number

  extents::const_iterator containing(std::uint64_t page) const;
  void forget_found() { found_.fill(extents_.end()); }
  void check_room(command_checks& is) const;
  void split_at(command_checks& is, std::uint64_t page);
  /// The first extent that ends behind the start of `page`.
  extents::const_iterator first_from(std::uint64_t page) const;
  template <class Move>
  bool move(std::uint64_t at, std::size_t bytes, Move&& one);

  const adapter_limits& limits_;
  const hca_profile& profile_;
  host_memory& memory_;
  work_account& account_;
  const kept_memory& kept_;
  extents extents_;
  /// The extents of the pages that were looked up last, by page number modulo their count. Cleared
  /// when extents_ changes.
  mutable std::array<extents::const_iterator, 8> found_;
  std::uint64_t pages_mapped_ = 0;

 public:
  using saved = saving::fields<&icm::extents_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"found_", "a cache of look-ups, which is filled again"},
      {"pages_mapped_", "the pages of all extents"}};
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer_members(archive, *this);
    if constexpr (Archive::loads) {
      forget_found();
      pages_mapped_ = 0;
      for (const auto& [first, e] : extents_) pages_mapped_ += e.pages;
    }
  }
  const char* broken_invariant() const;
};

/// What the adapter leaves in memory that it is lent: drivers report this pattern in entries that
/// nobody wrote; that it is the initialisation pattern is inferred.
inline constexpr std::uint32_t lent_pattern = 0x9130a470;

/// Bytes that are overwritten by one access.
inline constexpr std::size_t fill_bytes = 64u << 10;

/// Writes the pattern to `bytes` bytes of bus memory (a multiple of 4096, at most fill_bytes).
bool fill_with_pattern(host_memory& memory, std::uint64_t address, std::size_t bytes);

}  // namespace freehca::model
