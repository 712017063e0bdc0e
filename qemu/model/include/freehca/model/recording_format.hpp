// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace freehca::model {

/// The version of the recording format (docs/recording.md) that this tree writes and reads.
inline constexpr std::uint64_t recording_version = 1;

/// The version of what a recorder at the driver's side writes ("by": "driver").
inline constexpr std::uint64_t driver_recording_version = 1;

/// By model::variant; QEMU's property has the same names.
inline constexpr std::array<std::string_view, 3> variant_names{"connectx3-pro", "connectx3",
                                                               "connectx2"};

/// Of a port's link: its kind, or that of a VPI port after a reset; QEMU's property has the same.
inline constexpr std::array<std::string_view, 4> link_names{"ib", "eth", "vpi-ib", "vpi-eth"};
constexpr std::string_view link_name(bool ethernet, bool vpi) {
  return link_names[2u * vpi + ethernet];
}

}  // namespace freehca::model
