// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/vfio_user_host/remote_device.hpp>

namespace freehca::vfio_user_host {

/// From now on accesses to these addresses are accesses to registers of `to`.
void open_window(const std::byte* base, std::size_t bytes, remote_device& to, unsigned bar);
/// From now on writes to these addresses, inside an open window, are stores to memory that is
/// shared with the server. The server scans this memory.
void open_shared_window(const std::byte* base, std::size_t bytes, remote_device& to);
void close_windows(const remote_device& of);

}  // namespace freehca::vfio_user_host
