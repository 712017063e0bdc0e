// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/command_status.hpp>

#include "basis/command.hpp"
#include "basis/configuration.hpp"
#include "basis/rule_book.hpp"

namespace freehca::model {

class command_checks;
class icm;
class key_users;
class memory_regions;

/// The commands on memory protection and translation: SW2HW_MPT, HW2SW_MPT, QUERY_MPT, READ_MTT,
/// WRITE_MTT, SYNC_TPT.
class memory_commands {
 public:
  memory_commands(const configuration& config, icm& contexts, memory_regions& regions,
                  const key_users& users, rule_book& rules)
      : config_(config), contexts_(contexts), regions_(regions), users_(users), rules_(rules) {}

  void add_handlers(command_table& commands);

 private:
  layouts::command_status sw2hw(command& c);
  layouts::command_status hw2sw(command& c);
  layouts::command_status query(command& c);
  layouts::command_status write_mtt(command& c);
  layouts::command_status read_mtt(command& c);
  layouts::command_status sync(command& c);

  std::uint64_t named_entry(command_checks& is, std::uint32_t index) const;

  const configuration& config_;
  icm& contexts_;
  memory_regions& regions_;
  const key_users& users_;
  rule_book& rules_;
};

}  // namespace freehca::model
