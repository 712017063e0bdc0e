// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/optical_module.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/module_info.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

using memory = std::array<std::byte, module_page_bytes>;

template <unsigned Bytes>
std::array<std::byte, Bytes> padded(std::string_view text) {
  std::array<std::byte, Bytes> field;
  field.fill(std::byte{' '});
  std::memcpy(field.data(), text.data(), std::min<std::size_t>(text.size(), Bytes));
  return field;
}

template <class T>
unsigned sum(const image<T>& i, unsigned from, unsigned to) {
  unsigned total = 0;
  for (unsigned at = from; at < to; ++at) total += static_cast<unsigned>(i.data()[at]);
  return total & 0xff;
}

image<sfp_identity> identity(std::uint64_t serial) {
  using l = sfp_identity;
  // What modules of this kind tell (SFF-8472, table 4-1; IEEE 802.3, 52.5), in tens of metres.
  constexpr unsigned om1 = 3, om2 = 8, om3 = 30, om4 = 40;
  constexpr unsigned rate = 103, wavelength = 850;
  constexpr unsigned end_of_base = 63, begin_of_extended = 64, end_of_extended = 95;
  image<l> m;
  m.set<&l::identifier>(sfp_module)
      .set<&l::extended_identifier>(sfp_two_wire)
      .set<&l::connector>(sfp_lc_connector)
      .set<&l::ethernet_10g>(sfp_10gbase_sr)
      .set<&l::encoding>(sfp_64b66b)
      .set<&l::signaling_rate>(rate)
      .set<&l::metres_om1>(om1)
      .set<&l::metres_om2>(om2)
      .set<&l::metres_om3>(om3)
      .set<&l::metres_om4>(om4)
      .set<&l::wavelength>(wavelength)
      .set<&l::options>(sfp_option::loss_of_signal | sfp_option::transmit_fault |
                        sfp_option::transmit_disable)
      .set<&l::diagnostics>(sfp_diagnostics_kind::there |
                            sfp_diagnostics_kind::internally_calibrated |
                            sfp_diagnostics_kind::average_power)
      .set<&l::compliance>(sfp_compliance_11_3);
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "%012llx", static_cast<unsigned long long>(serial));
  m.set_bytes<&l::vendor_name>(padded<l{}.vendor_name.length>("freehca").data())
      .set_bytes<&l::part_number>(padded<l{}.part_number.length>("MODEL-10G-SR").data())
      .set_bytes<&l::revision>(padded<l{}.revision.length>("1").data())
      .set_bytes<&l::serial_number>(padded<l{}.serial_number.length>(number.data()).data())
      .set_bytes<&l::date>(padded<l{}.date.length>("260101").data());
  m.set<&l::check_base>(sum(m, 0, end_of_base));
  m.set<&l::check_extended>(sum(m, begin_of_extended, end_of_extended));
  return m;
}

template <class Bounds>
void set_bounds(image<sfp_diagnostics>& m, unsigned alarm_high, unsigned alarm_low,
                unsigned warning_high, unsigned warning_low) {
  m.set<&Bounds::alarm_high>(alarm_high)
      .template set<&Bounds::alarm_low>(alarm_low)
      .template set<&Bounds::warning_high>(warning_high)
      .template set<&Bounds::warning_low>(warning_low);
}

// A healthy module's values and bounds: no source, chosen within what SFF-8472 and IEEE 802.3,
// table 52-8, allow.
image<sfp_diagnostics> diagnostics(bool signal) {
  using l = sfp_diagnostics;
  constexpr unsigned degree = 256, milliampere = 500, volt = 10000, microwatt = 10;
  constexpr auto below_zero = [](unsigned degrees) { return 0x10000 - degrees * degree; };
  constexpr unsigned end_of_bounds = 95;
  image<l> m;
  set_bounds<sfp_temperature_bounds>(m, 75 * degree, below_zero(5), 70 * degree, 0);
  set_bounds<sfp_voltage_bounds>(m, volt * 363 / 100, volt * 297 / 100, volt * 346 / 100,
                                 volt * 313 / 100);
  set_bounds<sfp_bias_bounds>(m, 12 * milliampere, 2 * milliampere, 11 * milliampere,
                              3 * milliampere);
  set_bounds<sfp_transmitted_bounds>(m, 1000 * microwatt, 150 * microwatt, 800 * microwatt,
                                     180 * microwatt);
  set_bounds<sfp_received_bounds>(m, 1000 * microwatt, 80 * microwatt, 800 * microwatt,
                                  100 * microwatt);
  m.set<&l::temperature>(35 * degree)
      .set<&l::voltage>(volt * 33 / 10)
      .set<&l::bias>(6 * milliampere)
      .set<&l::transmitted>(600 * microwatt)
      .set<&l::received>(signal ? 500 * microwatt : 0)
      .set<&l::loss_of_signal>(!signal)
      .set<&l::received_low_alarm>(!signal)
      .set<&l::received_low_warning>(!signal);
  m.set<&l::check>(sum(m, 0, end_of_bounds));
  return m;
}

/// ConnectX-2 refuses a read whose end is byte 256, and all of the second address (netdev 2024,
/// firmware 2.10.720: 0x061c, 0x071c). The later cards read both.
module_error error_of(const image<module_info>& wanted, variant kind, cable_light light) {
  using l = module_info;
  if (light == cable_light::no_module) return module_error::not_connected;
  if (wanted.get<&l::page>() > module_page_most) return module_error::page;
  const std::uint64_t size = wanted.get<&l::size>();
  const bool first_card = kind == variant::connectx2;
  const unsigned end_at_most = first_card ? module_page_bytes - 1 : module_page_bytes;
  // More than the answer has room for: no source, chosen.
  if (size == 0 || size > l{}.data.length || wanted.get<&l::address>() + size > end_at_most) {
    return module_error::address;
  }
  const std::uint64_t at = wanted.get<&l::i2c_address>();
  return at == sfp_identity_address || (at == sfp_diagnostics_address && !first_card)
             ? module_error::none
             : module_error::i2c_address;
}

/// The 256 bytes behind an address of the module: what it is made of comes first, the rest is the
/// user's to write and reads as zeros. An SFP module has one page.
memory contents(std::uint64_t i2c_address, cable_light light, std::uint64_t serial) {
  memory bytes{};
  const auto put = [&bytes](const auto& structure) {
    std::copy_n(structure.data(), structure.size(), bytes.begin());
  };
  if (i2c_address == sfp_identity_address) put(identity(serial));
  else put(diagnostics(light == cable_light::both_ways));
  return bytes;
}

}  // namespace

bool asks_module(const mad_buffer& mad) {
  const auto m = image<smp>::from_bytes(mad.data());
  return m.get<&smp::mgmt_class>() == mad_class::subnet_lid_routed &&
         m.get<&smp::method>() == mad_method::get &&
         m.get<&smp::attribute_id>() == static_cast<std::uint16_t>(smp_attribute::module_info);
}

void read_module(mad_buffer& mad, variant kind, cable_light light, std::uint64_t serial) {
  auto m = image<smp>::from_bytes(mad.data());
  auto told = image<module_info>::from_bytes(m.bytes_of<&smp::data>());
  const module_error error = error_of(told, kind, light);
  std::array<std::byte, module_info{}.data.length> read{};
  if (error == module_error::none) {
    const memory all = contents(told.get<&module_info::i2c_address>(), light, serial);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(told.get<&module_info::address>()),
                told.get<&module_info::size>(), read.begin());
  }
  told.set_bytes<&module_info::data>(read.data());
  m.set<&smp::method>(mad_method::get_resp)
      .set<&smp::status>(module_status(error))
      .set_bytes<&smp::data>(told.data());
  std::copy_n(m.data(), mad.size(), mad.begin());
}

}  // namespace freehca::model
