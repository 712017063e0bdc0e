// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/flash.hpp>
#include <freehca/layouts/hcr.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// The command register of firmware tools. The firmware that is modelled knows none of their
/// commands (configuration, registers by mailbox): each is answered at once, with the status that
/// says so.
class tools_commands {
 public:
  static bool has_register(std::uint32_t offset) {
    return offset >= layouts::tools_command::base &&
           offset - layouts::tools_command::base < layouts::tools_command::size;
  }
  std::uint32_t read_word(std::uint32_t offset) const {
    return layouts::load_be<std::uint32_t>(at(offset));
  }
  void write_word(std::uint32_t offset, std::uint32_t value) {
    layouts::store_be<std::uint32_t>(at(offset), value);
    if (!register_.get<&layouts::hcr::go>()) return;
    register_.set<&layouts::hcr::status>(layouts::command_status::bad_operation)
        .set<&layouts::hcr::go>(false);
  }
  void clear() { register_ = {}; }

 private:
  std::byte* at(std::uint32_t offset) {
    return register_.data() + (offset - layouts::tools_command::base);
  }
  const std::byte* at(std::uint32_t offset) const {
    return register_.data() + (offset - layouts::tools_command::base);
  }
  layouts::image<layouts::hcr> register_;

 public:
  using saved = saving::fields<&tools_commands::register_>;
};

}  // namespace freehca::model
