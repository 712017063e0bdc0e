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

/// The rings of a queue pair, as completions find them.
struct qp_rings {
  std::uint32_t qpn = 0;
  void* owner = nullptr;  ///< the object that the rings belong to, for whoever looks them up
  /// Called by cq::poll() for each completion in error that is not a flush: of a send, or of a
  /// receive. Null: nobody wants to know.
  void (*failed)(qp_rings& rings, bool sent) noexcept = nullptr;
  sq send;
  rq receive;
  srq* shared = nullptr;  ///< receives come from there; null: from `receive`
};

/// Finds the rings of the queue pair that a completion names. The device's numbers are not trusted:
/// one that no live queue pair has finds nothing. Slots are storage of the caller, a power of two
/// of them, as many as there are queue pairs in a row of numbers.
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

  /// Where to look, for whoever looks often: good for as long as the directory is open.
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

  /// driver_error::busy: another queue pair has the slot.
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
  /// In the slots that nobody has, so that a look needs no test for that: numbers have 24 bits.
  qp_rings nobody_;
};

}  // namespace freehca::queues
