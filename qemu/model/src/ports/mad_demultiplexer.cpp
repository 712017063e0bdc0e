// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/mad_demultiplexer.hpp"

#include "command/command_checks.hpp"

namespace freehca::model {

using namespace layouts;

command_status mad_demultiplexer::command(rule_book& rules, model::command& c) {
  command_checks is(rules);
  is.that(c.input_modifier == mad_demux_subnet_management, rule::input_modifier,
          command_status::bad_parameter,
          "input modifier 0x%x; subnet management, 0x%x, is demultiplexed alone", c.input_modifier,
          mad_demux_subnet_management);
  switch (static_cast<mad_demux_modifier>(c.opcode_modifier)) {
    case mad_demux_modifier::config: {
      image<mad_demux> wanted;
      is.read(c, wanted).no_reserved_bits(wanted);
      if (!is.refused()) taken_ = wanted;
      break;
    }
    case mad_demux_modifier::query_state:
      is.answer(c, taken_);
      break;
    case mad_demux_modifier::query_restrictions:
      // Nothing is kept from the host: the card is not in secure-host mode (Linux 6.1 fw.c
      // mlx4_check_smp_firewall_active).
      is.answer(c, image<mad_demux>{});
      break;
  }
  return is.status();
}

bool mad_demultiplexer::firmware_takes(mad_method method, std::uint64_t attribute_id) const {
  if (attribute_id > 31) return false;
  std::uint64_t mask = 0;
  switch (method) {
    case mad_method::get:
      mask = taken_.get<&mad_demux::get_attr_mask>();
      break;
    case mad_method::set:
      mask = taken_.get<&mad_demux::set_attr_mask>();
      break;
    case mad_method::get_resp:
      mask = taken_.get<&mad_demux::getresp_attr_mask>();
      break;
    case mad_method::send:
      mask = taken_.get<&mad_demux::send_attr_mask>();
      break;
    case mad_method::trap:
      mask = taken_.get<&mad_demux::trap_attr_mask>();
      break;
    case mad_method::report:
      mask = taken_.get<&mad_demux::report_attr_mask>();
      break;
    case mad_method::report_resp:
      mask = taken_.get<&mad_demux::report_resp_attr_mask>();
      break;
    case mad_method::trap_repress:
      mask = taken_.get<&mad_demux::trap_repress_attr_mask>();
      break;
    default:
      break;
  }
  return (mask >> attribute_id & 1) != 0;
}

}  // namespace freehca::model
