// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/model/event_fault.hpp>

#include "basis/adapter.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Event queues: SW2HW_EQ, HW2SW_EQ, QUERY_EQ, MAP_EQ, the EQ doorbells in the UAR pages,
/// interrupts. Their contexts stand in ICM; here stands only which of them hardware owns.
class event_queues {
 public:
  explicit event_queues(adapter& a);

  /// Does EQ `eqn` exist in hardware's hands?
  bool exists(std::uint32_t eqn) const { return eqn < owned_.size() && owned_[eqn]; }

  /// Writes an EQE to EQ `eqn` (owner bit and stride are set here) and interrupts if the EQ is
  /// armed. False: no such EQ in hardware's hands, or it is full. An overrun turns the EQ into
  /// overflow state, as hardware does, and raises an event about it.
  bool post(std::uint32_t eqn, const layouts::image<layouts::eqe>& e);
  template <class T>
  bool post(std::uint32_t eqn, const layouts::image<T>& e) {
    return post(eqn, layouts::image<layouts::eqe>::from_bytes(e.data()));
  }

  /// Has MAP_EQ chosen an EQ for this type of event?
  bool takes(layouts::event_type type) const {
    return static_cast<unsigned>(type) < types && of_type_[static_cast<unsigned>(type)] != nobody;
  }
  /// Posts to the EQ that MAP_EQ chose for this type of event, which is set here; dropped silently,
  /// with false, when none is mapped.
  bool post_asynchronous(layouts::event_type type, layouts::image<layouts::eqe> e);
  template <class T>
  bool post_asynchronous(layouts::event_type type, const layouts::image<T>& e) {
    return post_asynchronous(type, layouts::image<layouts::eqe>::from_bytes(e.data()));
  }

  /// A write to the EQ doorbell in UAR page `uar`; `index` is the EQ's slot in that page.
  void doorbell(std::uint32_t uar, unsigned index, std::uint32_t value);
  /// The clear-interrupt register (INTx mode).
  void clear_interrupt();
  void clear();
  void judge(event_judge by) { judge_ = std::move(by); }
  bool is_judged() const { return bool{judge_}; }
  bool asserts_intx() const { return intx_asserted_; }

 private:
  using context = layouts::image<layouts::eqc>;

  slice_result sw2hw(command& c);
  slice_result continue_sw2hw(command& c);
  layouts::command_status hw2sw(command& c);
  layouts::command_status query(command& c);
  layouts::command_status map(command& c);

  bool put(std::uint32_t eqn, const layouts::image<layouts::eqe>& e);
  std::uint64_t context_at(std::uint32_t eqn) const;
  /// From byte `at` on as far as a slice goes, and moves `at` on; at the buffer's end it is done.
  /// False: it cannot be written.
  bool fill_with_hardware_owner(const context& q, std::uint64_t& at);
  std::uint64_t buffer_bytes(const context& q) const;
  void fire(std::uint32_t eqn, context& q);
  void overflow(std::uint32_t eqn, context& q);

  static constexpr unsigned types = 64;  // MAP_EQ's mask
  static constexpr std::uint32_t nobody = ~0u;

  adapter& a_;
  std::vector<bool> owned_;
  std::array<std::uint32_t, types> of_type_;  ///< the EQ that takes each type of event
  event_judge judge_;                         ///< empty: every event is delivered
  bool intx_asserted_ = false;
  std::uint64_t posted_ = 0, interrupts_ = 0, dropped_ = 0;

 public:
  using saved =
      saving::fields<&event_queues::owned_, &event_queues::of_type_, &event_queues::intx_asserted_,
                     &event_queues::posted_, &event_queues::interrupts_, &event_queues::dropped_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"judge_", "a function, which the host sets"}};
  const char* broken_invariant() const;
};

}  // namespace freehca::model
