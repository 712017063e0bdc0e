// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/crossing.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/context_tables.hpp>
#include <freehca/hca/objects/object.hpp>

namespace freehca {

/// Creates, destroys, changes or reads an object. A creation allocates what the kind has planned,
/// and maps context memory for the object and its translation entries. It then builds the object
/// and sends the creating command. A destruction does the opposite in reverse order. If the
/// firmware refuses a step of a creation, the operation undoes all earlier steps and gives back all
/// resources before it completes. If the firmware does not answer, the object is held. The verbs
/// object takes it back after the late answer or the reset. If the deadline passes, the operation
/// ends as if it were cancelled, with transport_error::timeout.
///
/// If the operation is destroyed while it is under way, it is detached. The verbs object then takes
/// back what a creation has made, and finishes a destruction that the firmware has carried out. A
/// derived class that adds a command or a finisher calls drop() in its destructor.
///
/// The operation belongs to the owner of its object. In each step, this owner asks the control
/// owner for a command or for context memory. If the control owner has another thread, only run(),
/// stop_step(), drop_step() and step_ended() are called on that thread.
///
/// Outcomes besides those of the commands: driver_error::stale_handle, ::busy (other objects refer
/// to the object, another operation works on it, or it is in doubt), ::bad_argument, ::unsupported,
/// ::no_memory and ::no_resource (`where`: budget::item or verbs_budget::item, or
/// kind_facts::item), ::bad_state, ::cancelled. transport_error::timeout also means that the
/// deadline of the whole operation has passed.
class object_operation : public operation {
 protected:
  friend class verbs;
  /// Called at the end of the operation, with the outcome. Fills in the results.
  using finisher = void (*)(object_operation&, status) noexcept;
  /// The functions of a creation.
  struct creator {
    const kind& what;
    status (*plan)(object_operation&, device_object&);  ///< calls K::plan()
    /// Called when the number, the translations and the ring are allocated.
    status (*build)(object_operation&);
    finisher finished;
  };

  enum class step : std::uint8_t {
    idle,
    map,
    create,
    destroy,
    unmap,
    modify,
    query,
  };

  // Not inline: each operation class of a program would repeat the code.
  object_operation();
  ~object_operation();

  /// Takes an object of the kind from `owner`, and plans it. If one of the two fails, the operation
  /// is refused. `create` is null if no command creates the object. `pages` are the pages to which
  /// the object's translation entries point: the plan writes them.
  void start_creation(verbs& owner, const creator& how, command* create, const page_list& pages);
  /// Refuses a null `object`, and an object that is in use.
  void start_destruction(verbs& owner, device_object* object);
  /// `what` is modify or query. A query puts nothing at risk but the mailbox.
  void start_command(device_object& object, step what, command& c, finisher at_end);
  /// Completes the operation with `why` at the next poll. The operation does nothing else.
  void refuse(verbs& owner, status why);

  /// False if the operation was refused at its start.
  bool has_object() const { return object_ != nullptr; }
  /// Valid while the operation works on an object, and after that.
  device_object& object() const { return *object_; }
  verbs& owner() const { return *owner_; }

 private:
  using phase = object_record::phase;
  struct transition;
  static const transition transitions[];

  void adopt(device_object& object, phase to, finisher at_end);
  /// Takes back an object in phase reclaimable or reclaimable_blank.
  void start_unwinding(device_object& object);
  void take_back(device_object& object);
  void enter(step to);
  void advance(status outcome);
  void end_in_doubt(status outcome);
  bool going_up() const;
  bool changes() const { return step_ == step::modify || step_ == step::query; }
  void finish(status outcome);
  static void on_cancel(operation& op, void* self) noexcept;
  static object_operation& at(crossing& c) { return crossing_of<object_operation>::at(c); }

  // Called on the control owner's thread.
  void run();
  void stop_step();
  void drop_step();
  void record_answer(const operation& part);
  void answer();
  static void step_ended(operation& op, void* self) noexcept;

  device_object* object_ = nullptr;
  verbs* owner_ = nullptr;
  command* command_ = nullptr;  // the command that creates, modifies or queries
  operation* part_ = nullptr;   // the command or request of the step; null: the step has none
  page_list pages_;             // to which the translation entries point
  const creator* creator_ = nullptr;
  finisher finish_ = nullptr;
  status outcome_so_far_;
  step step_ = step::idle;
  bool stopping_ = false;  // stop_crossing_ is under way
  bool answered_ = false;  // the answer arrived while stop_crossing_ was under way
  bool doubtful_ = false;  // belongs to answer_: the step left the object in doubt
  status answer_;
  crossing_of<object_operation> step_crossing_{*this}, stop_crossing_{*this};
  command destroy_;
  context_request request_;
};

}  // namespace freehca
