// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/operation.hpp>

#include <freehca/hca/context_tables.hpp>
#include <freehca/hca/object_record.hpp>

namespace freehca {

/// Brings an object into being or takes it back: context memory for its translations and for
/// itself, then the creating command; and the opposite. What the firmware refuses is unwound to the
/// last number before it completes. What the firmware does not answer is held, and taken back by
/// the verbs object after the late answer or the reset. A deadline that passes does what cancel()
/// does, and says so.
///
/// Outcomes besides those of the commands: driver_error::stale_handle, ::busy (has users, or
/// another operation works on it, or it is in doubt), ::bad_argument, ::unsupported, ::no_memory
/// and ::no_resource (`where`: budget::item or verbs_budget::item), ::bad_state, ::cancelled;
/// transport_error::timeout also when the deadline of the whole has passed.
class object_operation : public operation {
 protected:
  friend class verbs;
  /// Just before the creating command: writes what it refers to.
  using preparer = void (*)(object_operation&) noexcept;
  /// The object is there, or the operation failed: fills in results.
  using finisher = void (*)(object_operation&, status) noexcept;

  enum class step : std::uint8_t {
    idle,
    map_translations,
    map_object,
    create,
    destroy,
    unmap_object,
    unmap_translations,
    modify,
  };

  object_operation() = default;

  void start_creation(verbs& owner, object_record& object, command* create, preparer prepare,
                      finisher at_end);
  void start_destruction(verbs& owner, object_record& object, finisher at_end);
  void start_change(verbs& owner, object_record& object, command& change, finisher at_end);
  /// Completes at the next poll without having done anything.
  void refuse(verbs& owner, status why);

  /// While the operation works on one.
  object_record& object() const { return *object_; }
  verbs& owner() const { return *owner_; }

 private:
  void adopt(verbs& owner, object_record& object, finisher at_end);
  void enter(step to);
  void advance(status outcome);
  /// True: that was the end of the operation.
  bool command_ended(status outcome);
  void end_in_doubt(status outcome);
  bool going_up() const;
  void submit(command& c);
  void finish(status outcome);
  static void on_command(operation& op, void* self) noexcept;
  static void on_request(operation& op, void* self) noexcept;
  static void on_cancel(operation& op, void* self) noexcept;

  object_record* object_ = nullptr;
  verbs* owner_ = nullptr;
  command* command_ = nullptr;  // the one that creates or changes
  preparer prepare_ = nullptr;
  finisher finish_ = nullptr;
  status outcome_so_far_;
  step step_ = step::idle;
  command destroy_;
  context_request request_;
};

}  // namespace freehca
