// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <freehca/in_process/machine.hpp>

#include "input.hpp"

namespace freehca::fuzz {

/// Makes an adapter lie as the input says. The input is a list of lies: how many chances to tell it
/// pass first, what kind, where, and with which value. A chance is a register that the driver reads
/// or a write of the adapter to memory, which is where all that it says to a driver goes through:
/// outputs of commands, event and completion entries, contexts. When the list is used up the
/// adapter is honest.
class lies {
 public:
  /// `cancel` is called when the input wants what the driver is doing to be cancelled: between two
  /// looks of the driver at the adapter, or from inside the next completion.
  enum class moment : std::uint8_t { between_polls, at_a_completion };
  using canceller = std::function<void(moment)>;
  /// `payload` says which addresses the lies change no more than data with.
  lies(in_process::machine& on, input& from, canceller cancel,
       std::function<bool(std::uint64_t address)> payload = {});
  ~lies() { stop(); }
  lies(const lies&) = delete;
  lies& operator=(const lies&) = delete;

  /// Honest from now on.
  void stop();
  /// Whether the adapter was pulled.
  bool removed() const { return removed_; }
  /// No lie is left: the adapter is honest from now on.
  bool used_up() const { return !on_; }
  /// How many lies were told.
  unsigned told() const { return told_; }
  /// Whether what the adapter wrote to memory was changed, and whether other memory than payload
  /// was: the adapter's own contexts stand there too, and it does anything when they are not what
  /// it wrote.
  bool changed_writes() const { return changed_writes_; }
  bool changed_structures() const { return changed_structures_; }

 private:
  enum class kind : std::uint8_t {
    flip,
    word,
    ones,
    zeros,
    byte,
    hold_command,
    lose_answer,
    refuse_command,
    late_answers,
    cancel,
    removal,
    cancel_inside,
    lose_event,
    double_event,
    refuse_request,
  };
  static constexpr unsigned kinds = 15;
  bool about_a_command() const {
    return kind_ == kind::hold_command || kind_ == kind::lose_answer ||
           kind_ == kind::refuse_command;
  }
  bool about_an_event() const { return kind_ == kind::lose_event || kind_ == kind::double_event; }

  /// True if the lie waits for a decision of the adapter, not for an access.
  bool about_a_decision() const {
    return about_a_command() || about_an_event() || kind_ == kind::refuse_request;
  }

  bool due();
  void next();
  void begin_next();
  void alter(std::byte* bytes, std::size_t count);
  std::uint32_t alter(std::uint32_t value);
  model::command_verdict judge();
  model::event_fate judge_event();
  bool judge_request();

  in_process::machine& machine_;
  input& input_;
  canceller cancel_;
  std::function<bool(std::uint64_t)> payload_;
  unsigned told_ = 0;
  bool changed_writes_ = false, changed_structures_ = false;
  kind kind_{};
  std::uint32_t gap_ = 0;
  std::uint32_t place_ = 0;
  std::uint32_t value_ = 0;
  bool on_ = true;
  bool removed_ = false;
};

}  // namespace freehca::fuzz
