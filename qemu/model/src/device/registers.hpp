// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/model/options.hpp>

#include "basis/counters.hpp"
#include "basis/rule_book.hpp"
#include "device/flash.hpp"
#include "device/tools_commands.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class command_engine;
class event_queues;
class firmware;

/// BAR0: command registers, semaphores, software reset, interrupt clearing, error buffer, clock,
/// the gateway to the flash.
class registers {
 public:
  registers(const options& how, event_queues& eqs, command_engine& engine, firmware& software,
            rule_book& rules);

  void add_counters(counter_registry& counters) const;

  /// Values as in device::read_registers.
  std::uint64_t read(std::uint64_t offset, unsigned bytes);
  void write(std::uint64_t offset, std::uint64_t value, unsigned bytes);
  void clear();

  /// The error buffer shows an internal error from now on, until a reset.
  void show_internal_error() { internal_error_ = true; }

 private:
  std::uint32_t read_word(std::uint32_t offset);
  void write_word(std::uint32_t offset, std::uint32_t value);
  std::uint32_t clock_low_word();

  const options& how_;
  event_queues& eqs_;
  command_engine& engine_;
  firmware& firmware_;
  rule_book& rules_;
  bool owned_ = false;  ///< ownership semaphore
  bool flash_owned_ = false, tools_owned_ = false, programming_owned_ = false;
  flash flash_;
  tools_commands tools_;
  bool internal_error_ = false;
  std::optional<std::uint64_t> clock_read_;  ///< when its high word was read last, before the low
  std::uint64_t resets_ = 0;

 public:
  using saved =
      saving::fields<&registers::owned_, &registers::flash_owned_, &registers::tools_owned_,
                     &registers::programming_owned_, &registers::flash_, &registers::tools_,
                     &registers::internal_error_, &registers::clock_read_, &registers::resets_>;
};

}  // namespace freehca::model
