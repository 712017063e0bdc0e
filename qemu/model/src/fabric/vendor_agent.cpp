// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/vendor_agent.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "basis/identity.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

// no source: chosen (as the performance agent's)
constexpr unsigned response_time = 16;
constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;

}  // namespace

mad_result vendor_agent::process(mad_buffer& mad) {
  auto m = image<vendor_mad>::from_bytes(mad.data());
  const mad_method method = m.get<&vendor_mad::method>();
  if (m.get<&vendor_mad::base_version>() != mad_base_version ||
      (method != mad_method::get && method != mad_method::set))
    return mad_result::discarded;
  const std::uint16_t status = m.get<&vendor_mad::class_version>() == 1
                                   ? answer(m, method == mad_method::set)
                                   : mad_status::bad_version;
  m.set<&vendor_mad::method>(mad_method::get_resp).set<&vendor_mad::status>(status);
  std::copy_n(m.data(), mad.size(), mad.begin());
  return mad_result::answered;
}

std::uint16_t vendor_agent::answer(image<vendor_mad>& m, bool is_set) {
  const auto what = static_cast<vendor_attribute>(m.get<&vendor_mad::attribute_id>());
  // IBTA vol. 1, 13.4.8.1: every class has ClassPortInfo. What else class 0x09 has: no source, so
  // nothing. Access to the registers by MADs (0x50) is not offered: chosen, a card of which it is
  // known grants it to whom it trusts.
  if (is_set) return mad_status::unsupported_method_attribute;
  if (what == vendor_attribute::class_port_info) {
    // The attribute stands where the class's data begin, as its clients read it (rdma-core
    // libibmad/vendor.c).
    const std::array<std::byte, decltype(vendor_mad::data)::length> nothing{};
    const auto info = image<class_port_info>{}
                          .set<&class_port_info::base_version>(mad_base_version)
                          .set<&class_port_info::class_version>(1)
                          .set<&class_port_info::resp_time>(response_time);
    m.set_bytes<&vendor_mad::data>(nothing.data());
    set_attribute<&vendor_mad::data>(m, info);
    return mad_status::success;
  }
  if (what == vendor_attribute::general_info &&
      m.get<&vendor_mad::mgmt_class>() == vendor_class_2) {
    set_attribute<&vendor_mad::data>(m, general_info());
    return mad_status::success;
  }
  return mad_status::unsupported_method_attribute;
}

image<layouts::general_info> vendor_agent::general_info() {
  using l = layouts::general_info;
  const identity& who = identity_of(kind_);
  std::byte psid[decltype(l::psid)::length]{};
  std::memcpy(psid, who.board_id, std::min(std::strlen(who.board_id), sizeof psid));
  // The device is the one of configuration space: vendstat.c lists 0x1003 to 0x101b as ConnectX.
  // The unit of the uptime: no source, chosen (seconds). Build, date and the number of the
  // configuration file: no source, zero.
  return image<l>{}
      .set<&l::hw_revision>(who.hardware_version)
      .set<&l::device_id>(who.device_id)
      .set<&l::uptime>(work_.now() / nanoseconds_per_second & 0xffffffff)
      .set<&l::firmware_major>(who.firmware_major & 0xff)
      .set<&l::firmware_minor>(who.firmware_minor & 0xff)
      .set<&l::firmware_subminor>(who.firmware_subminor & 0xff)
      .set_bytes<&l::psid>(psid)
      .set<&l::extended_major>(who.firmware_major)
      .set<&l::extended_minor>(who.firmware_minor)
      .set<&l::extended_subminor>(who.firmware_subminor);
}

}  // namespace freehca::model
