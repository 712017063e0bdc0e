// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <freehca/in_process/machine.hpp>

#include "input.hpp"

namespace freehca::fuzz {

/// Makes an adapter lie as the input says. The input is a list of lies: how many chances to tell it pass first,
/// what kind, where, and with which value. A chance is a register that the driver reads or a write of the
/// adapter to memory, which is where all that it says to a driver goes through: outputs of commands, event and
/// completion entries, contexts. When the list is used up the adapter is honest.
class lies {
 public:
  /// `cancel` is called when the input wants what the driver is doing to be cancelled.
  lies(in_process::machine& on, input& from, std::function<void()> cancel);
  ~lies() { stop(); }
  lies(const lies&) = delete;
  lies& operator=(const lies&) = delete;

  /// Honest from now on.
  void stop();
  /// Whether the adapter was pulled.
  bool removed() const { return removed_; }

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
  };
  static constexpr unsigned kinds = 11;
  bool about_a_command() const {
    return kind_ == kind::hold_command || kind_ == kind::lose_answer ||
           kind_ == kind::refuse_command;
  }

  bool due();
  void next();
  void alter(std::byte* bytes, std::size_t count);
  std::uint32_t alter(std::uint32_t value);
  model::command_verdict judge();

  in_process::machine& machine_;
  input& input_;
  std::function<void()> cancel_;
  kind kind_{};
  std::uint32_t gap_ = 0;
  std::uint32_t place_ = 0;
  std::uint32_t value_ = 0;
  bool on_ = true;
  bool removed_ = false;
};

}  // namespace freehca::fuzz
