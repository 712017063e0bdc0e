// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/opcode.hpp>

#include "basis/command_progress.hpp"
#include "basis/host_memory.hpp"

namespace freehca::model {

/// One firmware command as posted in the HCR. Mailboxes are at most 4096 bytes, 4 KiB aligned.
struct command {
  layouts::opcode opcode;
  std::uint8_t opcode_modifier = 0;  ///< HCR bits 15:12
  std::uint32_t input_modifier = 0;
  std::uint64_t input_parameter = 0;  ///< immediate, or the bus address of the input mailbox
  std::uint64_t output_parameter =
      0;  ///< bus address of the output mailbox; immediate output is set here
  std::uint16_t token = 0;
  bool event = false;             ///< E bit: complete by a command-completion EQE
  host_memory* memory = nullptr;  ///< set by the command engine; not part of the command's state
  command_progress progress;      ///< of a command that runs in slices

  using saved = saving::fields<saving::any_value(&command::opcode), &command::opcode_modifier,
                               &command::input_modifier, &command::input_parameter,
                               &command::output_parameter, &command::token, &command::event,
                               &command::progress>;
  static constexpr saving::unsaved_member unsaved[] = {{"memory", "set after a load"}};

  /// Reads T from the input mailbox at `offset`; false when the bus refuses.
  template <class T>
  bool read_input(layouts::image<T>& to, std::size_t offset = 0) const {
    return memory->read(input_parameter + offset, to.data(), to.size());
  }
  /// Writes T to the output mailbox at `offset`.
  template <class T>
  bool write_output(const layouts::image<T>& from, std::size_t offset = 0) const {
    return memory->write(output_parameter + offset, from.data(), from.size());
  }
};

/// The status of a command, or nothing when the command continues in a later slice.
using slice_result = std::optional<layouts::command_status>;

/// Opcode to handler. Every part of the adapter registers its own commands at construction; an
/// opcode without a handler is answered with bad_operation.
///
/// A command that is too long for one slice has a continuation beside its handler. If the handler
/// returns nothing, the continuation is called in later slices until it returns a status. It does
/// what a slice allows and records it in command::progress. Other commands, also CLOSE_HCA, may run
/// between two slices.
class command_table {
 public:
  using handler = std::function<slice_result(command&)>;
  void on(layouts::opcode opcode, handler h) { handlers_[index(opcode)] = std::move(h); }
  void on(layouts::opcode opcode, handler h, handler continuation) {
    on(opcode, std::move(h));
    continuations_[index(opcode)] = std::move(continuation);
  }
  const handler& find(std::uint16_t opcode) const { return handlers_[opcode & 0xfff]; }
  /// Null for an opcode whose commands run in one slice.
  const handler* continuation_of(layouts::opcode opcode) const {
    const auto known = continuations_.find(index(opcode));
    return known == continuations_.end() ? nullptr : &known->second;
  }

 private:
  static std::uint16_t index(layouts::opcode opcode) {
    return static_cast<std::uint16_t>(opcode) & 0xfff;
  }

  std::array<handler, 0x1000> handlers_;
  std::map<std::uint16_t, handler> continuations_;
};

}  // namespace freehca::model
