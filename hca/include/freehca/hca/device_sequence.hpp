// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/reactor.hpp>

#include <freehca/hca/bring_up.hpp>

namespace freehca {

/// A bring-up, a teardown or a recovery under way. It keeps the current step, the
/// operation that it waits for, and the reason to end early. It does not know what the steps do.
class device_sequence {
 public:
  enum class course : std::uint8_t {
    none,
    up,
    down,
    reset,  ///< takes everything back at once; down follows
  };

  explicit device_sequence(channel& commands) : commands_(commands) {}

  // State that a step keeps between two calls of its function. When the sequence enters a step, it
  // clears phase, item and committed.
  unsigned phase = 0;
  unsigned item = 0;           ///< the port, queue or attempt that the step works on
  bool committed = false;      ///< the step must not end half-way
  std::uint64_t since = 0;     ///< when the step began to wait
  std::uint64_t patience = 0;  ///< until when the step waits

  /// True if the current step, which is not done, has or may have changed the state of the device.
  /// A step with several parts, such as event queues and ports, keeps this for each part itself.
  bool partly = false;
  sequence_failure failure;  ///< of the last sequence; ok if it did not fail

  course way() const { return course_; }
  bring_up_step step() const { return static_cast<bring_up_step>(step_); }
  /// True if an operation waits for the end of the sequence.
  bool is_awaited() const { return done_ != nullptr; }
  /// True if this operation was cancelled or its deadline has passed.
  bool stop_requested() const { return is_awaited() && !done_->stop_reason().ok(); }
  /// The deadline of the operation that waits for the end of the sequence.
  std::uint64_t deadline() const { return done_ != nullptr ? done_->deadline() : clock::never; }

  /// True if the effect of the step exists or may exist, on the host or at the device.
  bool has(bring_up_step what) const {
    const auto i = static_cast<unsigned>(what);
    return i < reached_ || (i == reached_ && partly);
  }
  /// The same for an effect that a reset ends.
  bool device_has(bring_up_step what) const { return !forgotten_ && has(what); }
  /// Notes that the device was reset. It has forgotten the effects of the steps that are undone
  /// from now on.
  void device_forgot() { forgotten_ = true; }

  /// Begins a sequence in direction `to`: see turn().
  void start(operation& done, operation::callback stopped, void* owner, course to);
  /// Makes `done` wait for the end of the sequence that runs already.
  void join(operation& done, operation::callback stopped, void* owner);
  /// Called when the operation that waits for the end is destroyed. The sequence ends as if it were
  /// cancelled, without a callback.
  void orphan(operation::callback stopped, void* owner);
  /// If `again` is true, a bring-up follows when everything is taken back.
  void set_up_again(bool again) { up_again_ = again; }
  /// Continues in direction `to`: up from the first step, down from the last step that was reached.
  /// A reset does not change the step.
  void turn(course to);
  /// Notes that the request to end early has been carried out.
  void clear_stop_request() { stopping_ = false; }
  /// Makes the sequence undo all steps to the end. The operation that waits for the end gets
  /// transport_error::reset, unless a failure is recorded already.
  void abandon();
  /// Ends the current step, which is done or undone. Returns false if it was the last one.
  bool next_step();
  /// Records a failure. Only the first failure of a sequence is recorded.
  void record_failure(bring_up_step step, status why);
  void record_failure(status why) { record_failure(step(), why); }
  /// Begins the bring-up of a recovery, after everything was taken back. Clears a failure that the
  /// reset has settled. Returns false if no bring-up follows, or if the operation is to end early.
  bool start_again();
  void end();

  // The operation or the time that the sequence waits for. The functions that return a status make
  // the step wait. The function of the step returns what they return.
  void wake_at(std::uint64_t time) { wake_ = time; }
  /// The step continues at `next_phase` with the next poll().
  status again(unsigned next_phase) {
    phase = next_phase;
    wake_ = 0;
    return {};
  }
  /// The step continues at `next_phase` when `what` is done.
  status await(unsigned next_phase, operation& what) {
    phase = next_phase;
    under_way_ = &what;
    return {};
  }
  /// True if the step waits: it has neither succeeded nor failed yet.
  bool waits() const { return under_way_ != nullptr || wake_ != clock::never; }
  enum class look : std::uint8_t { early, due, answered };
  /// Tests whether the step has work. If so, the wait is over. early: the step must wait longer.
  /// due: its time has come, or it is to end early. answered: its operation is done.
  look take_look(std::uint64_t now);
  /// The outcome of the operation, or ok if the step waited for a time.
  status answer() const { return answer_; }
  /// The time at which the step has work. clock::never while the step waits for an operation.
  std::uint64_t next_look() const;

  // The reason to end early.
  /// Requests that the sequence end early, after cancel() or when its deadline has passed. Returns
  /// false if the sequence cannot end early now, or at all.
  bool stop();
  bool stopping() const { return stopping_; }
  /// Cancels the operation that a step waits for, if the step started it after the request to stop.
  void pass_on_stop() {
    if (stopping() && under_way_ != nullptr) under_way_->cancel();
  }
  /// Returns the stop reason of the operation if `why` is driver_error::cancelled, else `why`.
  status reason_for(status why) const;

  // The command of the step. It exists until the next make(), or until the end of the step.
  template <class F, class... Target>
  firmware_command<F>& make(Target... target) {
    static_assert(sizeof(firmware_command<F>) <= sizeof command_space_);
    drop_command();
    auto* c = new (command_space_) firmware_command<F>(target...);
    command_ = c;
    return *c;
  }
  template <class F>
  firmware_command<F>& made() {
    return static_cast<firmware_command<F>&>(*command_);
  }
  command& last() { return *command_; }
  void drop_command();
  /// Sends the command. The step continues at `next_phase` when the command is done.
  status send(unsigned next_phase);
  /// The same for a command that changes the state of the device. `effect` becomes true at once. If
  /// the firmware refuses the command, also in a late answer, `effect` becomes false.
  status send_with_effect(unsigned next_phase, bool& effect);
  /// Notes that the device was reset: the effect in doubt does not exist.
  void forget_effect() { effect_ = nullptr; }

 private:
  static void effect_settled(lease& which, const settlement& end, void* self) noexcept;
  void enter(unsigned step);

  channel& commands_;
  operation* done_ = nullptr;
  operation orphan_;  // replaces an operation that was destroyed
  status outcome_, answer_;
  course course_ = course::none;
  bool up_again_ = false;
  bool stopping_ = false;  // the request to end early is not yet carried out
  bool forgotten_ = false;
  unsigned step_ = 0;
  unsigned reached_ = 0;    // the number of steps that are done
  std::uint64_t wake_ = 0;  // time of the next call; never: when an operation completes
  operation* under_way_ = nullptr;
  command* command_ = nullptr;  // in command_space_
  /// The lease of the effect of the command under way. *effect_ is true while the device has, or
  /// may have, the effect.
  lease effect_at_risk_{lease_kind::mapping, 1, &effect_settled, this};
  bool* effect_ = nullptr;
  alignas(16) std::byte command_space_[1280];
};

}  // namespace freehca
