// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The memory of the module that a port's cable ends in, as MAD_IFC reads it, and what an SFP+
// module holds there.
//
// Sources: Linux 6.1 mlx4/port.c mlx4_get_module_info (the datagram, its errors); statuses that
// cards have answered: reports of users (netdev 2024, "mlx4" and `ethtool -m`; mstflint's issue
// 33); SFF-8472 rev. 12, tables 4-1 to 4-11 and 9-1 to 9-16, as read through ethtool sfpid.c,
// sfpdiag.c (the memory).
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// smp::data of Get(module_info): what is to be read, and in the answer what was.
struct module_info {
  static constexpr std::size_t bytes = 64;
  bits    i2c_address {0x00, 31, 24, "i2c_address"};  ///< 7 bits
  bits    page        {0x00, 23, 16, "page"};
  bits    address     {0x00, 15,  0, "address"};
  bits    size        {0x04, 15,  0, "size"};
  raw<48> data        {0x10, "data"};
};
static_assert(module_info{}.data.offset + module_info{}.data.length == module_info::bytes &&
              claimed<module_info>().sound);

/// The high byte of the status word (mad_status::class_mask).
enum class module_error : std::uint8_t {
  none = 0,
  invalid_port = 1,
  not_supported = 2,
  not_connected = 3,
  no_memory = 4,  ///< a passive copper cable
  page = 5,       ///< above 15
  address = 6,    ///< size 0, or the end is past 256
  i2c_address = 7,
  module_select = 8,
  busy = 9,
};
/// Below the error stands the MAD's own "a field is invalid" (IBTA 13.4.7). Cards answered 0x031c,
/// 0x041c, 0x061c, 0x071c (ConnectX-2, firmware 2.10.720), 0x031c and 0x091c (ConnectX-3).
constexpr std::uint16_t module_status(module_error e) {
  constexpr unsigned invalid_field = 7 << 2;
  return e == module_error::none
             ? std::uint16_t{0}
             : static_cast<std::uint16_t>(static_cast<unsigned>(e) << 8 | invalid_field);
}

inline constexpr unsigned module_page_bytes = 256;
inline constexpr unsigned module_page_most = 15;
/// What an SFP module answers by: what it is, and how it fares.
inline constexpr std::uint8_t sfp_identity_address = 0x50, sfp_diagnostics_address = 0x51;

/// What an SFP module is. check_base: the sum of the bytes before it; check_extended: of those
/// from `options`.
struct sfp_identity {
  static constexpr std::size_t bytes = 128;
  bits    identifier          {0x00, 31, 24, "identifier"};
  bits    extended_identifier {0x00, 23, 16, "extended_identifier"};
  bits    connector           {0x00, 15,  8, "connector"};
  bits    ethernet_10g        {0x00,  7,  4, "ethernet_10g"};
  bits    encoding            {0x08,  7,  0, "encoding"};
  bits    signaling_rate      {0x0c, 31, 24, "signaling_rate"};   ///< 100 MBd
  bits    metres_om2          {0x10, 31, 24, "metres_om2"};       ///< 10 m
  bits    metres_om1          {0x10, 23, 16, "metres_om1"};       ///< 10 m
  bits    metres_om4          {0x10, 15,  8, "metres_om4"};       ///< 10 m
  bits    metres_om3          {0x10,  7,  0, "metres_om3"};       ///< 10 m
  raw<16> vendor_name         {0x14, "vendor_name"};
  bits    vendor_oui          {0x24, 23,  0, "vendor_oui"};
  raw<16> part_number         {0x28, "part_number"};
  raw<4>  revision            {0x38, "revision"};
  bits    wavelength          {0x3c, 31, 16, "wavelength"};       ///< nm
  bits    check_base          {0x3c,  7,  0, "check_base"};
  bits    options             {0x40, 31, 16, "options"};
  raw<16> serial_number       {0x44, "serial_number"};
  raw<8>  date                {0x54, "date"};                     ///< YYMMDD, two of the lot
  bits    diagnostics         {0x5c, 31, 24, "diagnostics"};
  bits    compliance          {0x5c, 15,  8, "compliance"};
  bits    check_extended      {0x5c,  7,  0, "check_extended"};
};
static_assert(sfp_identity{}.vendor_name.offset == 20 &&
              sfp_identity{}.serial_number.offset == 68 && sfp_identity{}.date.offset == 84 && claimed<sfp_identity>().sound);

inline constexpr std::uint8_t sfp_module = 0x03, sfp_two_wire = 0x04, sfp_lc_connector = 0x07,
                              sfp_10gbase_sr = 0x1, sfp_64b66b = 0x06, sfp_compliance_11_3 = 0x06;
namespace sfp_option {
inline constexpr std::uint16_t loss_of_signal = 1 << 1, transmit_fault = 1 << 3,
                               transmit_disable = 1 << 4;
}
namespace sfp_diagnostics_kind {
inline constexpr std::uint8_t there = 1 << 6, internally_calibrated = 1 << 5,
                              average_power = 1 << 3;
}

/// Bounds of one thing that an SFP module measures, in its unit.
template <unsigned Base>
struct sfp_bounds_at {
  bits alarm_high   {Base + 0x0, 31, 16, "alarm_high"};
  bits alarm_low    {Base + 0x0, 15,  0, "alarm_low"};
  bits warning_high {Base + 0x4, 31, 16, "warning_high"};
  bits warning_low  {Base + 0x4, 15,  0, "warning_low"};
};
using sfp_temperature_bounds = sfp_bounds_at<0x00>;
using sfp_voltage_bounds = sfp_bounds_at<0x08>;
using sfp_bias_bounds = sfp_bounds_at<0x10>;
using sfp_transmitted_bounds = sfp_bounds_at<0x18>;
using sfp_received_bounds = sfp_bounds_at<0x20>;

/// How an SFP module fares. check: the sum of the bytes before it.
struct sfp_diagnostics : sfp_temperature_bounds,
                         sfp_voltage_bounds,
                         sfp_bias_bounds,
                         sfp_transmitted_bounds,
                         sfp_received_bounds {
  static constexpr std::size_t bytes = 128;
  bits     check                {0x5c,  7,  0, "check"};
  bits     temperature          {0x60, 31, 16, "temperature"};           ///< 1/256 C, signed
  bits     voltage              {0x60, 15,  0, "voltage"};               ///< 100 uV
  bits     bias                 {0x64, 31, 16, "bias"};                  ///< 2 uA
  bits     transmitted          {0x64, 15,  0, "transmitted"};           ///< 0.1 uW
  bits     received             {0x68, 31, 16, "received"};              ///< 0.1 uW
  as<bool> loss_of_signal       {0x6c,  9,  9, "loss_of_signal"};
  as<bool> received_low_alarm   {0x70, 22, 22, "received_low_alarm"};
  as<bool> received_low_warning {0x74, 22, 22, "received_low_warning"};
};
static_assert(sfp_diagnostics{}.temperature.offset == 96 && claimed<sfp_diagnostics>().sound);

}  // namespace freehca::layouts
