// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/vfio_user_host/remote_device.hpp>

namespace freehca::vfio_user_host {

/// Accesses to the addresses are `to`'s registers from here on.
void open_window(const std::byte* base, std::size_t bytes, remote_device& to, unsigned bar);
/// Of these, writes to the addresses are stores there: the server shares them, and looks.
void open_shared_window(const std::byte* base, std::size_t bytes, remote_device& to);
void close_windows(const remote_device& of);

}  // namespace freehca::vfio_user_host
