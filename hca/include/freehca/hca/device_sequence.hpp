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

/// A bring-up, a teardown or a recovery under way: where it stands among the steps, where it is to
/// end, what it waits for, and why it would end early. What the steps do it does not know.
class device_sequence {
 public:
  enum class course : std::uint8_t {
    none,
    up,
    down,
    reset,  ///< which takes everything back at once; then down
  };
  enum class goal : std::uint8_t { down, up };

  explicit device_sequence(reactor& owner) : reactor_(owner) {}

  // What a step keeps between two looks; nothing on entry.
  unsigned phase = 0;
  unsigned item = 0;           ///< the port, queue or try that it is at
  bool committed = false;      ///< the step must not be left half done
  std::uint64_t since = 0;     ///< when it began to wait for something
  std::uint64_t patience = 0;  ///< until when it waits for that

  /// The step that is not done yet has, or may have, brought about something at the device. (What
  /// has more than one part, as event queues and ports have, keeps that part by part.)
  bool partly = false;
  sequence_failure failure;  ///< of the last one; ok when it did not fail

  course way() const { return course_; }
  goal towards() const { return goal_; }
  bring_up_step step() const { return static_cast<bring_up_step>(step_); }
  /// Somebody waits for its end.
  bool is_awaited() const { return done_ != nullptr; }
  /// ... and no longer wants to.
  bool told_to_end() const { return is_awaited() && !done_->stop_reason().ok(); }
  /// Of the operation that waits for its end.
  std::uint64_t deadline() const { return done_ != nullptr ? done_->deadline() : clock::never; }

  /// What the step does is there, or may be: on the host or at the device.
  bool has(bring_up_step what) const {
    const auto i = static_cast<unsigned>(what);
    return i < reached_ || (i == reached_ && partly);
  }
  /// The same of what a reset ends.
  bool device_has(bring_up_step what) const { return !forgotten_ && has(what); }
  /// The device was reset: what is undone from here on, it has forgotten.
  void device_forgot() { forgotten_ = true; }

  /// Begins: up from the first step, or down from the last that was reached.
  void start(operation& done, operation::callback stopped, void* owner, goal towards);
  /// `done` ends with what is undone already.
  void join(operation& done, operation::callback stopped, void* owner);
  /// The operation that waits is being destroyed: it ends as if cancelled, unheard.
  void orphan(operation::callback stopped, void* owner);
  void set_goal(goal to) { goal_ = to; }
  /// Goes on in that direction: up from the first step, down from the last that was reached; a
  /// reset keeps its place.
  void turn(course to);
  /// What told it to end early has been followed.
  void heed() { stopping_ = false; }
  /// Nobody waits any more for how it ends; it is undone to its end whatever comes.
  void abandon();
  /// The step is done or undone; false: it was the last one.
  bool next_step();
  /// Only the first thing that goes wrong is told.
  void blame(bring_up_step step, status why);
  void blame(status why) { blame(step(), why); }
  /// When all is taken back: what the reset settled is no failure. False: told to end early.
  bool start_again();
  void end();

  // What it waits for.
  void wake_at(std::uint64_t time) { wake_ = time; }
  void await(operation& what) { under_way_ = &what; }
  enum class look : std::uint8_t { early, due, answered };
  /// Whether there is something to do; what it waited for is over then.
  look take_look(std::uint64_t now);
  /// How that ended; ok when it waited for a time.
  status answer() const { return answer_; }
  /// When it looks again; never: when what it waits for completes.
  std::uint64_t next_look() const;

  // Why it ends early.
  /// Told to, by cancel() or because its deadline has passed. False: not now, or never.
  bool stop();
  bool stopping() const { return stopping_; }
  /// To what a step waits for, when it began that after it was told to stop.
  void pass_on_stop() {
    if (stopping() && under_way_ != nullptr) under_way_->cancel();
  }
  /// What the operation was told, where a step says that it was cancelled.
  status reason_for(status why) const;

  // The command of the step: it lives until the next one, or the end of the step.
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
  /// Sends it, and goes to `phase` when it is done.
  void send(channel& commands, unsigned next_phase);
  /// The same for one that gives the device something to take back: `effect` is true from now on,
  /// unless the firmware refuses, late answers included.
  void send_with_effect(channel& commands, unsigned next_phase, bool& effect);
  /// The device was reset: what was in doubt did not come about.
  void forget_effect() { effect_ = nullptr; }

 private:
  static void effect_settled(lease& which, const settlement& end, void* self) noexcept;
  void enter(unsigned step);

  reactor& reactor_;
  operation* done_ = nullptr;
  operation orphan_;  // in place of one that was destroyed
  status outcome_, answer_;
  course course_ = course::none;
  goal goal_ = goal::down;
  bool stopping_ = false;  // it was told to end early, and that was not followed yet
  bool forgotten_ = false;
  unsigned step_ = 0;
  unsigned reached_ = 0;    // the steps below it are done
  std::uint64_t wake_ = 0;  // when it is called again; never: when something completes
  operation* under_way_ = nullptr;
  command* command_ = nullptr;  // lives in command_space_
  /// Stands for what the command under way brings about: *effect_ is true while the device has it.
  lease effect_at_risk_{lease_kind::mapping, 1, &effect_settled, this};
  bool* effect_ = nullptr;
  alignas(16) std::byte command_space_[1280];
};

}  // namespace freehca
