// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <unordered_map>

#include "basis/configuration.hpp"
#include "basis/counters.hpp"
#include "basis/rule_book.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class completion_queues;
class event_queues;
class transport;

/// BAR2: UAR pages in the first half (doorbells), BlueFlame pages in the second, one per UAR page.
class uar_window {
 public:
  uar_window(const configuration& config, transport& queue_pairs, completion_queues& cqs,
             event_queues& eqs, rule_book& rules)
      : config_(config), queue_pairs_(queue_pairs), cqs_(cqs), eqs_(eqs), rules_(rules) {}

  void add_counters(counter_registry& counters) const;

  /// Doorbell pages have nothing to read: 0.
  std::uint64_t read(std::uint64_t offset, unsigned bytes);
  /// Values as in device::write_uar.
  void write(std::uint64_t offset, std::uint64_t value, unsigned bytes);
  void clear() { first_halves_.clear(); }

 private:
  /// Complains of a queue's doorbell in a page that is the firmware's. True: it is not taken.
  bool is_reserved(std::uint32_t page);
  void rung(std::uint32_t page, std::uint32_t offset, std::uint32_t value);
  void write_word(std::uint64_t page, std::uint32_t offset, std::uint32_t value);

  const configuration& config_;
  transport& queue_pairs_;
  completion_queues& cqs_;
  event_queues& eqs_;
  rule_book& rules_;
  std::uint64_t doorbells_ = 0, blueflame_writes_ = 0;
  /// A CQ doorbell may come as two 32-bit writes in order: the first half waits here, under its
  /// page.
  std::unordered_map<std::uint32_t, std::uint32_t> first_halves_;

 public:
  using saved = saving::fields<&uar_window::doorbells_, &uar_window::blueflame_writes_,
                               &uar_window::first_halves_>;
  const char* broken_invariant() const;
};

}  // namespace freehca::model
