// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::vfio_user {

/// The version of the protocol. libvfio-user's servers announce 0.1, QEMU's client 0.0.
inline constexpr std::uint16_t major_version = 0, minor_version = 1;

/// The terms of one end in a version message, with the protocol's defaults for missing
/// values.
struct terms {
  std::uint16_t major = major_version;
  std::uint16_t minor = minor_version;
  unsigned max_msg_fds = 1;
  std::uint64_t max_data_xfer_size = greatest_data;
  std::uint64_t max_dma_maps = 65535;
  std::uint64_t pgsizes = 4096;
  bool write_multiple = false;  ///< region_write_multi is understood
};

/// Parses the body of a version message, of a request or of a reply. Returns 0, EINVAL if it is
/// malformed, or ENOTSUP if it has another major version. Unknown names and unused capabilities are
/// ignored.
int read_terms(std::span<const std::byte> body, terms& found);

/// The body of a version message.
std::vector<std::byte> write_terms(const terms& said);

}  // namespace freehca::vfio_user
