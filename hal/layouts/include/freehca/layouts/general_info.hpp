// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The vendor's management class of the adapters' firmware: class 0x0a, of range 1 (mad::data).
//
// Source: rdma-core infiniband-diags/vendstat.c (class, attributes, structures is3_general_info_t
// and is4_general_info_t, and the list of devices that have the second).
#pragma once

#include <cstdint>

#include <freehca/layouts/mad.hpp>

namespace freehca::layouts {

/// The two classes of range 1 that Linux's driver hands to the firmware (Linux 6.1 hw/mlx4/mad.c,
/// MLX4_IB_VENDOR_CLASS1 and MLX4_IB_VENDOR_CLASS2).
inline constexpr mad_class vendor_class_1 = mad_class::vendor_range1;
inline constexpr mad_class vendor_class_2 = static_cast<mad_class>(0x0a);

enum class vendor_attribute : std::uint16_t {
  class_port_info = 0x0001,
  general_info = 0x0017,
  config_space_access = 0x0050,
};

/// GeneralInfo: what hardware and firmware of a node are. Dates in BCD. The extended version stands
/// on devices that vendstat.c lists (of the variants: 0x1003, 0x1007); its software version follows
/// there.
struct general_info {
  static constexpr std::size_t bytes = 232;
  bits    hw_revision       {0x08, 31, 16, "hw_revision"};
  bits    device_id         {0x08, 15,  0, "device_id"};
  bits    uptime            {0x24, 31,  0, "uptime"};
  bits    firmware_major    {0x28, 23, 16, "firmware_major"};
  bits    firmware_minor    {0x28, 15,  8, "firmware_minor"};
  bits    firmware_subminor {0x28,  7,  0, "firmware_subminor"};
  bits    build_id          {0x2c, 31,  0, "build_id"};
  bits    month             {0x30, 31, 24, "month"};
  bits    day               {0x30, 23, 16, "day"};
  bits    year              {0x30, 15,  0, "year"};
  bits    hour              {0x34, 15,  0, "hour"};
  raw<16> psid              {0x38, "psid"};
  bits    ini_version       {0x48, 31,  0, "ini_version"};
  bits    extended_major    {0x4c, 31,  0, "extended_major"};
  bits    extended_minor    {0x50, 31,  0, "extended_minor"};
  bits    extended_subminor {0x54, 31,  0, "extended_subminor"};
};
static_assert(claimed<general_info>().sound);

}  // namespace freehca::layouts
