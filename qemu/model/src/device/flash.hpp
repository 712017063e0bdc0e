// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/layouts/flash.hpp>
#include <freehca/model/options.hpp>

#include "basis/counters.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The gateway to the flash in BAR 0, and the SPI flash behind it: one chip, protected against
/// writing, as its status says. What it is told to write or to erase it leaves alone, as such a
/// chip does.
class flash {
 public:
  explicit flash(const options& how);

  void add_counters(counter_registry& counters) const;

  static bool has_register(std::uint32_t offset);
  /// Words at offsets in BAR 0 that has_register() names.
  std::uint32_t read_word(std::uint32_t offset) const;
  void write_word(std::uint32_t offset, std::uint32_t value);
  void clear();

 private:
  using command = layouts::image<layouts::flash_command>;
  void execute(const command& c);
  std::uint32_t answer(const command& c, unsigned word) const;
  std::byte stored(std::uint32_t at) const;

  const std::vector<std::byte> image_;
  command command_;
  std::uint32_t address_ = 0;
  std::array<std::uint32_t, layouts::flash_gateway::data_bytes / 4> data_{};
  std::uint64_t transfers_ = 0;

 public:
  using saved =
      saving::fields<&flash::command_, &flash::address_, &flash::data_, &flash::transfers_>;
};

}  // namespace freehca::model
