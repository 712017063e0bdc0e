// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/model/options.hpp>

#include "basis/command.hpp"
#include "basis/hca_profile.hpp"
#include "basis/rule_book.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class command_checks;
class ports;

/// What a driver sets of Ethernet ports past INIT_HCA and SET_PORT: CONFIG_DEV, ACCESS_REG, and
/// MOD_STAT_CFG's wake on LAN. An adapter without Ethernet ports has none of it.
class port_settings {
 public:
  port_settings(const options& how, hca_profile& profile, ports& links, rule_book& rules,
                command_table& commands);

  /// MOD_STAT_CFG with immediate parameters (setup mode 5); ports that cannot wake a host are
  /// refused.
  layouts::command_status set_wake_on_lan(command& c, unsigned port);
  layouts::command_status query_wake_on_lan(command& c, unsigned port);

 private:
  layouts::command_status config_dev(command& c);
  layouts::command_status query_config_dev(command& c) const;
  layouts::command_status access_reg(command& c);
  void check_settings(command_checks& is, const layouts::image<layouts::config_dev>& in) const;
  /// The register PTYS, as asked for and as it is.
  layouts::access_reg_status access_ptys(layouts::access_reg_method how,
                                         const layouts::image<layouts::ptys>& asked,
                                         layouts::image<layouts::ptys>& is);

  const options& how_;
  hca_profile& profile_;
  ports& links_;
  rule_book& rules_;
  /// On a magic packet. Kept for the life of the adapter, as in a card's flash.
  std::array<bool, 2> wakes_{};

 public:
  using saved = saving::fields<&port_settings::wakes_>;
};

}  // namespace freehca::model
