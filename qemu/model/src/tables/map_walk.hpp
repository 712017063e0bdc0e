// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>

#include <freehca/layouts/map.hpp>

#include "basis/command.hpp"
#include "basis/limits.hpp"
#include "command/command_checks.hpp"
#include "tables/icm.hpp"

namespace freehca::model {

/// The chunks of a MAP command, overwritten one after another in slices. A chunk that is refused
/// ends the command; those before it stay lent.
class map_walk {
 public:
  using progress = command_progress::map_walk;
  using chunk = progress::chunk;

  /// Continues the walk of `c` from its progress, which step() advances.
  explicit map_walk(command& c) : command_(c), progress_(c.progress.mapping) {}

  /// As far as the slice goes: false when there is more. `may(chunk)` is asked before a chunk is
  /// overwritten, and false passes over it; `lent(chunk)` is told behind that, and again in the
  /// next slice while it says false.
  template <class May, class Lent>
  bool step(command_checks& is, host_memory& memory, const work_account& account, May&& may,
            Lent&& lent) {
    if (progress_.next_entry == 0) check_count(is);
    while (!is.refused()) {
      if (!progress_.begun) {
        if (progress_.next_entry >= std::min(command_.input_modifier, most)) return true;
        progress_.begun = begin(is) && may(progress_.at_hand);
        if (!progress_.begun) continue;
      }
      while (progress_.overwritten < progress_.at_hand.bytes()) {
        const auto now = static_cast<std::size_t>(
            std::min<std::uint64_t>(progress_.at_hand.bytes() - progress_.overwritten, fill_bytes));
        const bool written =
            fill_with_pattern(memory, progress_.at_hand.pa + progress_.overwritten, now);
        is.that(written, rule::chunk_writable, layouts::command_status::internal_error,
                "pa 0x%llx cannot be written", ull{progress_.at_hand.pa + progress_.overwritten});
        if (is.refused()) return true;
        progress_.overwritten = written ? progress_.overwritten + now : progress_.at_hand.bytes();
        if (account.slice_over()) return false;
      }
      if (!lent(progress_.at_hand)) return is.refused();
      progress_.begun = false;
    }
    return true;
  }

 private:
  using ull = unsigned long long;
  static constexpr std::uint32_t most = layouts::map_entries_per_mailbox;

  void check_count(command_checks& is) const {
    is.that(command_.input_modifier >= 1 && command_.input_modifier <= most, rule::chunk_count,
            layouts::command_status::bad_parameter, "input modifier: %u chunks; 1 to %u",
            command_.input_modifier, most);
  }

  /// Takes the next chunk from the mailbox. False: it is refused, or cannot be lent.
  bool begin(command_checks& is) {
    using layouts::command_status;
    using layouts::map_entry;
    constexpr unsigned log_most = 24;
    layouts::image<map_entry> e;
    const std::uint32_t number = progress_.next_entry++;
    is.read(command_, e, number * e.size())
        .at_most<&map_entry::log2size>(rule::chunk_size, e, log_most);
    const auto log = static_cast<unsigned>(e.get<&map_entry::log2size>());
    if (is.refused() || log > log_most) return false;
    progress_.at_hand = {e.get<&map_entry::va>(), e.get<&map_entry::pa>(), std::uint64_t{1} << log};
    progress_.overwritten = 0;
    check_alignment(is, "pa", progress_.at_hand.pa, number);
    if (command_.opcode == layouts::opcode::map_icm)
      check_alignment(is, "va", progress_.at_hand.va, number);
    progress_.pages += progress_.at_hand.pages;
    is.that(progress_.pages <= limits::pages_per_map, rule::pages_per_map,
            command_status::exceeds_limits, "log2size: %llu pages with chunk %u; at most %llu",
            ull{progress_.pages}, number, ull{limits::pages_per_map});
    return !is.refused() && progress_.pages <= limits::pages_per_map;
  }

  void check_alignment(command_checks& is, const char* field, std::uint64_t at,
                       std::uint32_t number) const {
    is.that(at % progress_.at_hand.bytes() == 0, rule::chunk_alignment,
            layouts::command_status::bad_parameter, "%s 0x%llx of chunk %u; its size is 0x%llx",
            field, ull{at}, number, ull{progress_.at_hand.bytes()});
  }

  const command& command_;
  progress& progress_;
};

}  // namespace freehca::model
