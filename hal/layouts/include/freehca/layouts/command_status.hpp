// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The status byte of a finished command. Source: Linux 6.1 cmd.c, the enumeration CMD_STAT_*.
#pragma once

#include <cstdint>

namespace freehca::layouts {

enum class command_status : std::uint8_t {
  ok = 0x00,
  internal_error = 0x01,          ///< an internal error, such as a bus error, while the command ran
  bad_operation = 0x02,           ///< opcode or opcode modifier not supported
  bad_parameter = 0x03,           ///< a parameter is out of range or not supported
  bad_system_state = 0x04,        ///< the system is not enabled, or in the wrong state
  bad_resource = 0x05,            ///< a reserved or unallocated resource
  resource_busy = 0x06,           ///< the object is executing a command, or busy otherwise
  exceeds_limits = 0x08,          ///< more than the device is capable of
  bad_resource_state = 0x09,      ///< wrong state or wrong owner
  bad_index = 0x0a,
  bad_nvmem = 0x0b,               ///< the firmware image is corrupted
  /// Context memory is not mapped, or there is too little auxiliary memory.
  icm_error = 0x0c,
  bad_qp_state = 0x10,            ///< the QP is not in the state that the transition starts from
  bad_segment_parameters = 0x20,  ///< address or size of a segment
  region_bound = 0x21,            ///< the region has windows bound to it
  lam_not_present = 0x22,         ///< no local attached memory
  bad_management_packet = 0x30,   ///< the packet was discarded silently
  bad_size = 0x40,                ///< more CQEs are outstanding than the new size holds
  multi_function_required = 0x50,
};

constexpr const char* name_of(command_status s) {
  switch (s) {
    case command_status::ok: return "ok";
    case command_status::internal_error: return "internal error";
    case command_status::bad_operation: return "bad operation";
    case command_status::bad_parameter: return "bad parameter";
    case command_status::bad_system_state: return "bad system state";
    case command_status::bad_resource: return "bad resource";
    case command_status::resource_busy: return "resource busy";
    case command_status::exceeds_limits: return "exceeds limits";
    case command_status::bad_resource_state: return "bad resource state";
    case command_status::bad_index: return "bad index";
    case command_status::bad_nvmem: return "bad nonvolatile memory";
    case command_status::icm_error: return "context memory error";
    case command_status::bad_qp_state: return "bad QP state";
    case command_status::bad_segment_parameters: return "bad segment parameters";
    case command_status::region_bound: return "region has bound windows";
    case command_status::lam_not_present: return "local attached memory not present";
    case command_status::bad_management_packet: return "bad management packet";
    case command_status::bad_size: return "bad size";
    case command_status::multi_function_required: return "multi-function support required";
  }
  return "unknown status";
}

}  // namespace freehca::layouts
