// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The output of QUERY_PORT and SENSE_PORT.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Link layers, also the values of SENSE_PORT's immediate output, bits 1:0.
enum class port_type : std::uint8_t { none = 0, ib = 1, ethernet = 2, vpi = 3 };

/// Codes of eth_link_speed (Linux 6.1 mlx4/en_port.h MLX4_EN_*_SPEED). Linux looks at the bits of
/// 0x6f.
enum class ethernet_speed : std::uint8_t {
  xaui_10g = 0x00,
  xfi_10g = 0x01,
  gigabit = 0x02,
  fast = 0x04,  ///< 100 Mb/s
  speed_20g = 0x08,
  other = 0x0f,
  speed_56g = 0x20,
  speed_40g = 0x40,
};

/// Sources: Linux 6.1 fw.c mlx4_QUERY_PORT and mlx4_QUERY_PORT_wrapper (cur_max_*), en_port.h
/// struct mlx4_en_query_port_context (autonegotiation, eth_link_speed: a whole byte, where iPXE and
/// illumos have its low four bits); illumos hermon_hw.h (link speeds, vpi); iPXE hermon.h
/// query_port_cap.
struct query_port {
  static constexpr std::size_t bytes = 0x40;
  as<bool>      link_up              {0x00, 31, 31, "link_up"};
  as<bool>      autoneg_complete     {0x00, 30, 30, "autoneg_complete"};  ///< Ethernet
  as<bool>      dmfs_optimized_state {0x00, 29, 29, "dmfs_optimized_state"};
  /// sense the link layer, unless told otherwise
  as<bool>      default_sense        {0x00, 28, 28, "default_sense"};
  /// set: Ethernet; illumos calls this bit vpi
  as<bool>      suggested_type       {0x00, 27, 27, "suggested_type"};
  as<port_type> supported_port_type  {0x00, 25, 24, "supported_port_type"};  ///< vpi: either
  as<bool>      autoneg_supported    {0x00, 23, 23, "autoneg_supported"};  ///< Ethernet
  /// IBTA code, 1 for 256 bytes to 5 for 4096.
  bits          ib_mtu               {0x00, 19, 16, "ib_mtu"};
  bits          eth_mtu              {0x00, 15,  0, "eth_mtu"};  ///< bytes
  bits          ib_link_speed        {0x04, 31, 24, "ib_link_speed"};  ///< bit 0 SDR, 1 DDR, 2 QDR
  as<ethernet_speed> eth_link_speed  {0x04, 23, 16, "eth_link_speed"};
  bits          ib_port_width        {0x04, 11,  8, "ib_port_width"};  ///< IBTA code
  bits          log_max_gid          {0x04,  7,  4, "log_max_gid"};
  bits          log_max_pkey         {0x04,  3,  0, "log_max_pkey"};
  bits          log_max_vlan         {0x08, 15, 12, "log_max_vlan"};
  bits          log_max_mac          {0x08, 11,  8, "log_max_mac"};
  bits          max_tc_eth           {0x08,  7,  4, "max_tc_eth"};
  bits          max_vl               {0x08,  3,  0, "max_vl"};  ///< without VL 15
  /// In answers to virtual functions.
  bits          cur_max_pkey         {0x0c, 31, 16, "cur_max_pkey"};
  /// In answers to virtual functions.
  bits          cur_max_gid          {0x0c, 15,  0, "cur_max_gid"};
  bits          mac                  {0x10, 47,  0, "mac"};  ///< the port's own MAC address
  bits          transceiver_type     {0x18, 31, 24, "transceiver_type"};
  bits          vendor_oui           {0x18, 23,  0, "vendor_oui"};
  bits          wavelength           {0x1c, 31, 16, "wavelength"};
  bits          transceiver_code     {0x20, 63,  0, "transceiver_code"};
};
static_assert(query_port{}.mac.offset == 0x10 && query_port{}.transceiver_code.offset == 0x20 &&
              claimed<query_port>().sound);

/// SENSE_PORT's immediate output.
struct sense_port {
  static constexpr std::size_t bytes = 8;
  as<layouts::port_type> port_type {0x04,  1,  0, "port_type"};  ///< none: no link
};
static_assert(claimed<sense_port>().sound);

}  // namespace freehca::layouts
