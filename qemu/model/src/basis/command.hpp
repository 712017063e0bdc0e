// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/opcode.hpp>

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
  bool event = false;  ///< E bit: complete by a command-completion EQE
  host_memory* memory = nullptr;
  /// What is left of a command that is too long for one slice: called in later ones, until it gives
  /// a status. Set by in_slices() alone.
  std::function<std::optional<layouts::command_status>()> rest;

  /// For a handler to return: does `step`, and again in later slices until it gives a status. It
  /// does what a slice allows, and lives on its own: other commands, also CLOSE_HCA, may run in
  /// between.
  template <class Step>
  layouts::command_status in_slices(Step step) {
    if (const std::optional<layouts::command_status> s = step()) return *s;
    rest = std::move(step);
    return layouts::command_status::ok;
  }

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

/// Opcode to handler. Every part of the adapter registers its own commands at construction; an
/// opcode without a handler is answered with bad_operation.
class command_table {
 public:
  using handler = std::function<layouts::command_status(command&)>;
  void on(layouts::opcode opcode, handler h) {
    handlers_[static_cast<std::uint16_t>(opcode) & 0xfff] = std::move(h);
  }
  const handler& find(std::uint16_t opcode) const { return handlers_[opcode & 0xfff]; }

 private:
  std::array<handler, 0x1000> handlers_;
};

}  // namespace freehca::model
