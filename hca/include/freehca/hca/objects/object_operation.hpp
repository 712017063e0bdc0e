// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/crossing.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/page_list.hpp>

#include <freehca/hca/context_tables.hpp>
#include <freehca/hca/objects/object.hpp>

namespace freehca {

/// Brings an object into being or takes it back: context memory for its translations and for
/// itself, then the creating command; and the opposite. What the firmware refuses is unwound to the
/// last number before it completes. What the firmware does not answer is held, and taken back by
/// the verbs object after the late answer or the reset. A deadline that passes does what cancel()
/// does, and says so.
///
/// One that is destroyed under way detaches: what it has begun is taken back by the verbs object. A
/// class that adds a command or a finisher calls drop() in its destructor.
///
/// The operation belongs to the owner of its object. Each step asks the control owner for a command
/// or for context memory. Where that is another thread, only run(), stop_step() and step_ended()
/// are called on it.
///
/// Outcomes besides those of the commands: driver_error::stale_handle, ::busy (has users, or
/// another operation works on it, or it is in doubt), ::bad_argument, ::unsupported, ::no_memory
/// and ::no_resource (`where`: budget::item or verbs_budget::item), ::bad_state, ::cancelled;
/// transport_error::timeout also when the deadline of the whole has passed.
class object_operation : public operation {
 protected:
  friend class verbs;
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
    query,
  };

  // Not inline: every operation of a program has one.
  object_operation();
  ~object_operation();

  /// `create` is null where no command makes it. `pages`: what its translations point to.
  void start_creation(device_object& object, command* create, const page_list& pages,
                      finisher at_end);
  /// Refuses what is not there, or in use.
  void start_destruction(verbs& owner, device_object* object);
  /// `what` is modify or query. Reading puts nothing at risk but the mailbox.
  void start_command(device_object& object, step what, command& c, finisher at_end);
  /// Completes at the next poll without having done anything.
  void refuse(verbs& owner, status why);

  /// False: it was refused at its start.
  bool has_object() const { return object_ != nullptr; }
  /// While the operation works on one, and after that.
  device_object& object() const { return *object_; }
  verbs& owner() const { return *owner_; }

 private:
  void adopt(device_object& object, finisher at_end);
  /// Takes back what nobody has a handle to.
  void start_unwinding(device_object& object);
  void take_back(device_object& object);
  void enter(step to);
  void advance(status outcome);
  /// True: that was the end of the operation.
  bool command_ended(status outcome);
  void end_in_doubt(status outcome);
  bool going_up() const;
  bool changes() const { return step_ == step::modify || step_ == step::query; }
  void prepare(command& c);
  void finish(status outcome);
  void leave(step to);
  static void on_cancel(operation& op, void* self) noexcept;

  // The control owner's part.
  friend class event_verbs;
  void run();
  void stop_step();
  status drop_step();
  static void step_ended(operation& op, void* self) noexcept;

  device_object* object_ = nullptr;
  verbs* owner_ = nullptr;
  command* command_ = nullptr;  // the one that creates or changes
  page_list pages_;
  finisher finish_ = nullptr;
  status outcome_so_far_;
  step step_ = step::idle;
  bool stopping_ = false;  // stop_crossing_ is under way
  bool answered_ = false;  // and the answer has come
  bool doubtful_ = false;  // with answer_: the step left the object in doubt
  status answer_;
  crossing_of<object_operation> step_crossing_{*this}, stop_crossing_{*this};
  command destroy_;
  context_request request_;
};

}  // namespace freehca
