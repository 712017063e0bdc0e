// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca::model {

/// What becomes of one firmware command.
struct command_verdict {
  enum class fate : std::uint8_t {
    run,     ///< as it should
    refuse,  ///< not run, answered with `status`
    /// Not run and not answered until device::release_held_commands(): then run, writes and all.
    hold,
    hold_and_refuse,  ///< the same, but refused with `status` when it is let go
    lose_answer,      ///< run, never answered
    answer_twice,     ///< run; an answer by event comes twice
    keep_go,          ///< not run, and the register stays taken: nothing follows it until a reset
  };
  fate what = fate::run;
  layouts::command_status status = layouts::command_status::internal_error;
};

/// Decides about each command when the adapter accepts it.
using command_judge =
    std::function<command_verdict(layouts::opcode code, std::uint32_t input_modifier)>;

}  // namespace freehca::model
