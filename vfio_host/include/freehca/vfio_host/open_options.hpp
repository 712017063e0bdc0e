// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace freehca::vfio_host {

/// The kernel's two interfaces to a function and to the IOMMU.
enum class door : std::uint8_t {
  automatic,  ///< iommufd if it exists and the process may open it, otherwise the group
  group,      ///< the IOMMU group's device and a container of type 1
  iommufd,    ///< the function's character device and /dev/iommu (Linux 6.6)
};

/// The pages of the driver's own memory.
enum class memory_pages : std::uint8_t {
  small,
  /// The kernel is advised to use large pages where it has them (transparent huge pages).
  advised,
  /// Huge pages of 2 MiB, which the administrator has reserved. Opening fails without them.
  huge,
};

/// Options of vfio_device::open().
struct open_options {
  door way = door::automatic;
  memory_pages pages = memory_pages::small;
};

inline constexpr const char* name_of(door d) {
  return d == door::iommufd ? "iommufd" : d == door::group ? "group" : "auto";
}

/// The door that a user names: "auto", "group" or "iommufd".
inline constexpr std::optional<door> door_named(std::string_view name) {
  for (const door d : {door::automatic, door::group, door::iommufd})
    if (name == name_of(d)) return d;
  return std::nullopt;
}

/// The pages that a user names: "small", "advised" or "huge".
inline constexpr std::optional<memory_pages> pages_named(std::string_view name) {
  if (name == "small") return memory_pages::small;
  if (name == "advised") return memory_pages::advised;
  if (name == "huge") return memory_pages::huge;
  return std::nullopt;
}

}  // namespace freehca::vfio_host
