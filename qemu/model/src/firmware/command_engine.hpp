// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <type_traits>

#include <freehca/layouts/hcr.hpp>

#include <freehca/model/command_fault.hpp>

#include "basis/adapter.hpp"

namespace freehca::model {

class firmware;

/// The host command register: takes commands, runs them after their latency, reports how they
/// ended. Polled commands leave GO set until status and immediate output stand in the register;
/// with the E bit GO drops when the command is accepted, and the end is told by an event.
class command_engine final : private work_receiver {
 public:
  command_engine(adapter& a, const firmware& f);

  /// 32-bit access to the word at `offset` (0 to 0x18) of the register.
  std::uint32_t read_word(std::uint32_t offset) const;
  void write_word(std::uint32_t offset, std::uint32_t value);

  /// Faults on request: see device::judge_commands().
  void judge(command_judge j) { judge_ = std::move(j); }
  bool is_judged() const { return bool{judge_}; }
  void release_held();
  bool answer_held(std::size_t which, const command_verdict& how);
  std::size_t held() const;

  /// Registers a counter for each opcode that has a handler. Call when all handlers are in place.
  void count_opcodes();
  /// Forgets the register and every command in flight (reset).
  void clear();
  /// From now on no command is run or answered, those in flight neither, until clear().
  void stop();

 private:
  /// A number that tells what object a command works on; none for commands that work on no single
  /// object.
  using object = std::optional<std::uint64_t>;
  struct flight {
    command what;
    object on;
    bool busy;                   ///< the object was taken when the command came
    bool reaches_memory = true;  ///< bus mastering was on when the command was posted
    command_verdict verdict;
    bool held = false;
    std::uint64_t era = 0;     ///< of the firmware, when the command began
    bool next = false;         ///< it waits for one that is run in slices
    std::uint64_t takes = 0;   ///< its latency
    std::uint32_t number = 0;  ///< names the command where work is scheduled for it

    using saved = saving::fields<&flight::what, &flight::on, &flight::busy, &flight::reaches_memory,
                                 &flight::verdict, &flight::held, &flight::era, &flight::next,
                                 &flight::takes, &flight::number>;
  };
  static_assert(std::is_trivially_copyable_v<flight>);

  void start();
  /// Its latency is over.
  void finish(std::list<flight>::iterator which);
  void finish_now(std::list<flight>::iterator which);
  void end(std::list<flight>::iterator which);
  /// From here to end_judging() complaints are about that command.
  void begin_judging(const flight& f);
  void end_judging();
  slice_result run(command& c, bool busy);
  void explain(const command& c, layouts::command_status s);
  /// In a later slice: what is left of it.
  void go_on(std::list<flight>::iterator which);
  layouts::command_status swept_away();
  /// One that was run in slices has ended: the one that has waited longest has the firmware.
  void pass_on();
  void ended(std::list<flight>::iterator which, layouts::command_status s);
  void report(const command& c, layouts::command_status s);
  void continue_command(std::list<flight>::iterator which);

  // Of all kinds, generation: generation_. Of all but the first, number: the command.
  enum work : std::uint8_t { accept, end_of_latency, end_of_wait, next_slice };
  void run_item(work_item& what) override;
  work_item item(work kind, std::uint32_t number = 0) const {
    return {.kind = kind, .number = number, .generation = generation_};
  }

  adapter& a_;
  work_source work_;
  const firmware& firmware_;
  layouts::image<layouts::hcr> register_;
  command_judge judge_;
  std::list<flight> in_flight_;
  std::uint32_t next_number_ = 0;
  bool stopped_ = false;
  std::optional<bool> toggle_;  ///< T of the last command since the reset
  bool waiting_ = false;        ///< a command stands in the register and does not fit yet
  bool reaches_memory_ =
      true;  ///< bus mastering was on when the command in the register was posted
  std::uint64_t last_due_ = 0;
  /// Commands that are run in slices, and the one that waited for them until it begins.
  std::size_t in_slices_ = 0;
  std::uint64_t generation_ = 0;  ///< rises with each reset
  std::uint64_t commands_ = 0, failed_ = 0;
  std::array<std::uint64_t, 0x1000> by_opcode_{};

 public:
  using saved = saving::fields<
      &command_engine::register_, &command_engine::in_flight_, &command_engine::next_number_,
      &command_engine::stopped_, &command_engine::toggle_, &command_engine::waiting_,
      &command_engine::reaches_memory_, &command_engine::last_due_, &command_engine::in_slices_,
      &command_engine::generation_, &command_engine::commands_, &command_engine::failed_,
      &command_engine::by_opcode_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "a constant"},
                                                       {"judge_", "an obstacle to saving"}};
  /// Call after a load: sets command::memory, which no stream has.
  void loaded();
  const char* broken_invariant() const;
};

}  // namespace freehca::model
