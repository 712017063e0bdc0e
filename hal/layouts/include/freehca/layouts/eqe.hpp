// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Event queue entries.
#pragma once

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Sources: Linux 6.1 device.h enum mlx4_event; iPXE hermon.h event_mask for 0x0b, 0x15, 0x16. Bit
/// n of MAP_EQ's mask is type n.
enum class event_type : std::uint8_t {
  completion = 0x00,
  path_migrated = 0x01,
  communication_established = 0x02,
  sq_drained = 0x03,
  cq_error = 0x04,
  wq_catastrophic_error = 0x05,
  eec_catastrophic_error = 0x06,
  path_migration_failed = 0x07,
  local_catastrophic_error = 0x08,
  port_change = 0x09,
  command_completion = 0x0a,
  fexch_error = 0x0b,
  ecc_detect = 0x0e,
  eq_overflow = 0x0f,
  wq_invalid_request_error = 0x10,
  wq_access_violation = 0x11,
  srq_catastrophic_error = 0x12,
  srq_last_wqe = 0x13,
  srq_limit = 0x14,
  gpio = 0x15,
  client_reregister = 0x16,
  comm_channel = 0x18,
  vep_update = 0x19,
  operation_required = 0x1a,
  fatal_warning = 0x1b,
  flr = 0x1c,
  port_management_change = 0x1d,
  recoverable_error = 0x3e,
  none = 0xff,
};

/// The subtype byte, by event type.
enum class port_change_subtype : std::uint8_t { down = 1, active = 4 };
enum class port_management_subtype : std::uint8_t {
  guid_info = 0x14,
  port_info = 0x15,
  pkey_table = 0x16,
  sl_to_vl_map = 0x17,
};
enum class fatal_warning_subtype : std::uint8_t { temperature = 0 };
enum class recoverable_error_subtype : std::uint8_t { bad_cable = 1, unsupported_cable = 2 };

/// The entry of 32 bytes. What its data mean depends on the type; the tables below read the same
/// bytes. The owner bit is hardware's while it differs from bit log_eq_size of the consumer
/// counter, which counts on without wrapping at the queue's size; so the first round is written
/// with the bit clear, and a new queue has it set in every entry (iPXE sets it; Linux leaves it to
/// the device at SW2HW_EQ).
/// Sources: Linux 6.1 device.h struct mlx4_eqe, eq.c next_eqe_sw, mlx4_create_eq.
struct eqe {
  static constexpr std::size_t bytes = 0x20;
  as<layouts::event_type> event_type     {0x00, 23, 16, "event_type"};
  bits                    event_sub_type {0x00,  7,  0, "event_sub_type"};
  /// virtual function that the event is about
  bits                    slave_id       {0x1c, 31, 24, "slave_id"};
  as<bool>                owner          {0x1c,  7,  7, "owner"};
};
static_assert(claimed<eqe>().sound);

/// Where the 32 bytes are in an entry of `stride` bytes. With 64-byte entries switched on in
/// INIT_HCA (eqe_64b) they are the upper half; with any stride chosen by eqe_stride, the first 32
/// bytes (eq.c get_eqe).
constexpr std::size_t eqe_offset_in_entry(bool eqe_64b_enabled) { return eqe_64b_enabled ? 0x20 : 0; }

/// completion
struct eqe_completion : eqe {
  bits cqn {0x04, 23,  0, "cqn"};
};
/// path_migrated, communication_established, sq_drained, wq_*, path_migration_failed, srq_last_wqe
struct eqe_qp : eqe {
  bits qpn {0x04, 23,  0, "qpn"};
};
/// srq_limit, srq_catastrophic_error
struct eqe_srq : eqe {
  bits srqn {0x04, 23,  0, "srqn"};
};

enum class cq_error_syndrome : std::uint8_t { overrun = 1, access_violation = 2 };
/// cq_error
struct eqe_cq_error : eqe {
  bits                  cqn      {0x04, 23,  0, "cqn"};
  as<cq_error_syndrome> syndrome {0x0c,  7,  0, "syndrome"};
};

/// command_completion
struct eqe_command : eqe {
  bits               token     {0x04, 15,  0, "token"};
  as<command_status> status    {0x0c,  7,  0, "status"};
  bits               out_param {0x10, 63,  0, "out_param"};  ///< the immediate output
};

/// port_change. Linux reads four bits for the port, the PRM has two.
struct eqe_port_change : eqe {
  bits port {0x0c, 31, 28, "port"};
};

/// What changed_attr says, bit by bit (Linux 6.1 device.h MLX4_EQ_PORT_INFO_*).
enum class port_info_change : std::uint32_t {
  master_sm_lid = 1u << 0,
  gid_prefix = 1u << 1,
  lid = 1u << 2,
  client_reregister = 1u << 3,
  master_sm_sl = 1u << 4,
};
/// port_management_change, subtype port_info
struct eqe_port_info_change : eqe {
  bits port         {0x04,  7,  0, "port"};
  bits mstr_sm_lid  {0x08, 31, 16, "mstr_sm_lid"};
  bits port_lid     {0x08, 15,  0, "port_lid"};
  bits changed_attr {0x0c, 31,  0, "changed_attr"};
  bits mstr_sm_sl   {0x10,  7,  0, "mstr_sm_sl"};
  bits gid_prefix   {0x14, 63,  0, "gid_prefix"};
};
/// port_management_change, subtypes guid_info (blocks of 8) and pkey_table (blocks of 32)
struct eqe_table_change : eqe {
  bits port             {0x04,  7,  0, "port"};
  bits block_ptr        {0x08, 31,  0, "block_ptr"};
  bits tbl_entries_mask {0x0c, 31,  0, "tbl_entries_mask"};
};
/// port_management_change, subtype sl_to_vl_map
struct eqe_sl2vl_change : eqe {
  bits   port        {0x04,  7,  0, "port"};
  raw<8> sl2vl_table {0x08, "sl2vl_table"};  ///< a nibble per service level, 0 first
};

/// port_change and port_management_change: by which fields a driver learns what has changed.
struct eqe_port_event : eqe {
  bits port    {0x04,  7,  0, "port"};     ///< of port_management_change
  bits block   {0x08, 31,  0, "block"};    ///< block_ptr of a table's subtype
  bits changed {0x0c, 31,  0, "changed"};  ///< changed_attr, or tbl_entries_mask of a table
  /// Reads a field from an entry, without a copy of it.
  template <auto Field>
  static std::uint32_t read(const image<eqe>& e) {
    return load_be<std::uint32_t>(e.data() + row_of<Field>.offset) >> row_of<Field>.lo &
           static_cast<std::uint32_t>(row_of<Field>.mask());
  }
  /// The port of either event, from 1.
  static std::uint32_t port_of(const image<eqe>& e) {
    return e.get<&eqe::event_type>() == layouts::event_type::port_change
               ? read<&eqe_port_change::port>(e)
               : read<&eqe_port_event::port>(e);
  }
};

/// eq_overflow and local_catastrophic_error (illumos hermon_hw.h)
enum class operational_error : std::uint8_t {
  eq_overflow = 1,
  bad_uar_page = 2,
  uplink_bus_error = 3,
  ddr_data_error = 4,
  internal_parity = 5,
};
struct eqe_operational_error : eqe {
  as<operational_error> error_type {0x0c,  7,  0, "error_type"};
  bits                  data       {0x10, 31,  0, "data"};
};

/// gpio (iPXE MT25408_PRM.h gpio_event_data, illumos)
struct eqe_gpio : eqe {
  bits gpio_event {0x10, 63,  0, "gpio_event"};
};

/// comm_channel: one bit per virtual function
struct eqe_comm_channel : eqe {
  raw<16> bit_vec {0x08, "bit_vec"};
};

/// vep_update
struct eqe_mac_update : eqe {
  bits port {0x04, 31, 24, "port"};
  bits mac  {0x08, 63,  0, "mac"};
};

/// flr
struct eqe_flr : eqe {
  bits flr_slave_id {0x04, 31,  0, "flr_slave_id"};
};

/// fatal_warning, subtype temperature (degrees Celsius)
struct eqe_temperature : eqe {
  bits current_temperature {0x04, 31, 16, "current_temperature"};
  bits warning_threshold   {0x04, 15,  0, "warning_threshold"};
};

/// recoverable_error
struct eqe_cable : eqe {
  bits port {0x04,  7,  0, "port"};
};

static_assert(claimed<eqe_completion>().sound && claimed<eqe_qp>().sound && claimed<eqe_srq>().sound &&
              claimed<eqe_cq_error>().sound && claimed<eqe_command>().sound &&
              claimed<eqe_port_change>().sound && claimed<eqe_port_info_change>().sound &&
              claimed<eqe_table_change>().sound && claimed<eqe_sl2vl_change>().sound &&
              claimed<eqe_port_event>().sound &&
              claimed<eqe_operational_error>().sound && claimed<eqe_gpio>().sound &&
              claimed<eqe_comm_channel>().sound && claimed<eqe_mac_update>().sound &&
              claimed<eqe_flr>().sound && claimed<eqe_temperature>().sound && claimed<eqe_cable>().sound);

}  // namespace freehca::layouts
