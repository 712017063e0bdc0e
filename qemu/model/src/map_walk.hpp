// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <freehca/layouts/map.hpp>

#include "command.hpp"
#include "icm.hpp"
#include "limits.hpp"

namespace freehca::model {

/// The chunks of a MAP command, overwritten one after another in slices. A chunk that is refused ends the command; those
/// before it stay lent.
class map_walk {
 public:
  struct chunk {
    std::uint64_t va = 0, pa = 0, pages = 0;
    std::uint64_t bytes() const { return pages << layouts::icm_page_shift; }
  };
  using result = std::optional<layouts::command_status>;

  explicit map_walk(const command& c) : command_(c) {}

  /// As far as the slice goes: the command's status, or nothing when there is more. `may(chunk)` gives a status before
  /// a chunk is overwritten; `lent(chunk)` one behind it, or nothing: then it is called again in the next slice.
  template <class May, class Lent>
  result step(host_memory& memory, const work_account& account, May&& may, Lent&& lent) {
    using layouts::command_status;
    for (;;) {
      if (!begun_) {
        if (next_ == command_.input_modifier && next_ != 0) return command_status::ok;
        command_status s = begin();
        if (s == command_status::ok) s = may(at_hand_);
        if (s != command_status::ok) return s;
        begun_ = true;
      }
      while (overwritten_ < at_hand_.bytes()) {
        const auto now = static_cast<std::size_t>(
            std::min<std::uint64_t>(at_hand_.bytes() - overwritten_, fill_bytes));
        if (!fill_with_pattern(memory, at_hand_.pa + overwritten_, now))
          return command_status::internal_error;
        overwritten_ += now;
        if (account.slice_over()) return std::nullopt;
      }
      const result s = lent(at_hand_);
      if (!s || *s != command_status::ok) return s;
      begun_ = false;
    }
  }

 private:
  /// Takes the next chunk from the mailbox.
  layouts::command_status begin() {
    using layouts::command_status;
    using layouts::map_entry;
    if (command_.input_modifier == 0 || command_.input_modifier > layouts::map_entries_per_mailbox)
      return command_status::bad_parameter;
    layouts::image<map_entry> e;
    if (!command_.read_input(e, next_ * e.size())) return command_status::internal_error;
    ++next_;
    const auto log = static_cast<unsigned>(e.get<&map_entry::log2size>());
    if (log > 24) return command_status::bad_parameter;
    at_hand_ = {e.get<&map_entry::va>(), e.get<&map_entry::pa>(), std::uint64_t{1} << log};
    overwritten_ = 0;
    total_ += at_hand_.pages;
    if (total_ > limits::pages_per_map) return command_status::exceeds_limits;
    return at_hand_.pa % at_hand_.bytes() != 0 ? command_status::bad_parameter : command_status::ok;
  }

  command command_;
  chunk at_hand_;
  std::uint32_t next_ = 0;  ///< entry of the mailbox
  std::uint64_t total_ = 0, overwritten_ = 0;
  bool begun_ = false;
};

}  // namespace freehca::model
