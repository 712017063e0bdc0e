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
  struct chunk {
    std::uint64_t va = 0, pa = 0, pages = 0;
    std::uint64_t bytes() const { return pages << layouts::icm_page_shift; }
  };

  explicit map_walk(const command& c) : command_(c) {}

  /// As far as the slice goes: false when there is more. `may(chunk)` is asked before a chunk is
  /// overwritten, and false passes over it; `lent(chunk)` is told behind that, and again in the
  /// next slice while it says false.
  template <class May, class Lent>
  bool step(command_checks& is, host_memory& memory, const work_account& account, May&& may,
            Lent&& lent) {
    if (next_ == 0) check_count(is);
    while (!is.refused()) {
      if (!begun_) {
        if (next_ == std::min(command_.input_modifier, most)) return true;
        begun_ = begin(is) && may(at_hand_);
        if (!begun_) continue;
      }
      while (overwritten_ < at_hand_.bytes()) {
        const auto now = static_cast<std::size_t>(
            std::min<std::uint64_t>(at_hand_.bytes() - overwritten_, fill_bytes));
        const bool written = fill_with_pattern(memory, at_hand_.pa + overwritten_, now);
        is.that(written, rule::chunk_writable, layouts::command_status::internal_error,
                "pa 0x%llx cannot be written", ull{at_hand_.pa + overwritten_});
        if (is.refused()) return true;
        overwritten_ = written ? overwritten_ + now : at_hand_.bytes();
        if (account.slice_over()) return false;
      }
      if (!lent(at_hand_)) return is.refused();
      begun_ = false;
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
    const std::uint32_t number = next_++;
    is.read(command_, e, number * e.size())
        .at_most<&map_entry::log2size>(rule::chunk_size, e, log_most);
    const auto log = static_cast<unsigned>(e.get<&map_entry::log2size>());
    if (is.refused() || log > log_most) return false;
    at_hand_ = {e.get<&map_entry::va>(), e.get<&map_entry::pa>(), std::uint64_t{1} << log};
    overwritten_ = 0;
    check_alignment(is, "pa", at_hand_.pa, number);
    if (command_.opcode == layouts::opcode::map_icm) check_alignment(is, "va", at_hand_.va, number);
    total_ += at_hand_.pages;
    is.that(total_ <= limits::pages_per_map, rule::pages_per_map, command_status::exceeds_limits,
            "log2size: %llu pages with chunk %u; at most %llu", ull{total_}, number,
            ull{limits::pages_per_map});
    return !is.refused() && total_ <= limits::pages_per_map;
  }

  void check_alignment(command_checks& is, const char* field, std::uint64_t at,
                       std::uint32_t number) const {
    is.that(at % at_hand_.bytes() == 0, rule::chunk_alignment,
            layouts::command_status::bad_parameter, "%s 0x%llx of chunk %u; its size is 0x%llx",
            field, ull{at}, number, ull{at_hand_.bytes()});
  }

  command command_;
  chunk at_hand_;
  std::uint32_t next_ = 0;  ///< entry of the mailbox
  std::uint64_t total_ = 0, overwritten_ = 0;
  bool begun_ = false;
};

}  // namespace freehca::model
