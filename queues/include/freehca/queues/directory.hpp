// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/power_of_two.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/queues/rq.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/srq.hpp>

namespace freehca::queues {

/// The rings of a queue pair, as a completion queue finds them.
struct qp_rings {
  std::uint32_t qpn = 0;
  void* owner = nullptr;  ///< the object that has the rings; not used by queues
  /// Called by cq::poll() and cq::look() for each completion in error that is not a flush,
  /// before the caller gets the completion. `sent`: the request was in the send queue. It must not
  /// remove queue pairs from the directory. May be null.
  void (*failed)(qp_rings& rings, bool sent) noexcept = nullptr;
  sq send;
  rq receive;
  srq* shared = nullptr;  ///< receives come from this queue; null: from `receive`
};

/// Finds the rings of the queue pair that a completion names. Numbers from the device are not
/// trusted: a number that no live queue pair has finds nothing. The caller owns the slots. Their
/// number is a power of two, and at least the length of the range of queue pair numbers.
class qp_directory {
 public:
  qp_directory() { nobody_.qpn = ~std::uint32_t{0}; }
  qp_directory(const qp_directory&) = delete;
  qp_directory& operator=(const qp_directory&) = delete;
  void open(qp_rings** slots, std::uint32_t count) {
    FREEHCA_ASSERT(is_power_of_two(count));
    slots_ = slots;
    mask_ = count - 1;
    for (std::uint32_t i = 0; i < count; ++i) slots_[i] = &nobody_;
  }
  bool is_open() const { return slots_ != nullptr; }
  qp_rings* find(std::uint32_t qpn) const { return is_open() ? look().find(qpn) : nullptr; }

  /// A copy of the table's address and size, for a caller that looks up often. Valid while the
  /// directory is open.
  class view {
   public:
    [[gnu::always_inline]] qp_rings* find(std::uint32_t qpn) const {
      qp_rings* const found = slots_[qpn & mask_];
      return found->qpn == qpn ? found : nullptr;
    }

   private:
    friend class qp_directory;
    view(qp_rings* const* slots, std::uint32_t mask) : slots_(slots), mask_(mask) {}
    qp_rings* const* slots_;
    std::uint32_t mask_;
  };
  view look() const { return {slots_, mask_}; }

  /// Adds a queue pair. Errors: driver_error::busy (another queue pair has the slot), ::bad_state
  /// (not open).
  status add(qp_rings& rings) {
    if (slots_ == nullptr) return driver_error::bad_state;
    qp_rings*& slot = slots_[rings.qpn & mask_];
    if (slot != &nobody_) return driver_error::busy;
    slot = &rings;
    return {};
  }
  void remove(const qp_rings& rings) {
    if (slots_ != nullptr && slots_[rings.qpn & mask_] == &rings)
      slots_[rings.qpn & mask_] = &nobody_;
  }

 private:
  qp_rings** slots_ = nullptr;
  std::uint32_t mask_ = 0;
  /// Stands in each free slot, so that a lookup needs no test for null. No lookup returns it,
  /// because numbers have 24 bits.
  qp_rings nobody_;
};

}  // namespace freehca::queues
