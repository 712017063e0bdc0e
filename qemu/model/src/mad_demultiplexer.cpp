// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "mad_demultiplexer.hpp"

namespace freehca::model {

using namespace layouts;

command_status mad_demultiplexer::command(model::command& c) {
  if (c.input_modifier != mad_demux_subnet_management) return command_status::bad_parameter;
  switch (static_cast<mad_demux_modifier>(c.opcode_modifier)) {
    case mad_demux_modifier::config: {
      image<mad_demux> wanted;
      if (!c.read_input(wanted)) return command_status::internal_error;
      if (!wanted.reserved_clear()) return command_status::bad_parameter;
      taken_ = wanted;
      return command_status::ok;
    }
    case mad_demux_modifier::query_state:
      return c.write_output(taken_) ? command_status::ok : command_status::internal_error;
    case mad_demux_modifier::query_restrictions:
      // Nothing is kept from the host: the card is not in secure-host mode (Linux 6.1 fw.c
      // mlx4_check_smp_firewall_active).
      return c.write_output(image<mad_demux>{}) ? command_status::ok
                                                : command_status::internal_error;
  }
  return command_status::bad_operation;
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
