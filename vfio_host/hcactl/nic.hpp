// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include "work.hpp"

namespace freehca::hcactl {

/// The sizes of the driver for the interface of the options.
easy::sizes size_for_nic(const nic_options& options);
/// Bytes of memory for frames, beyond device::dma_bytes().
std::size_t nic_bytes(const nic_options& options);

/// Joins an Ethernet port to a TAP device, until a signal or the end of the time.
findings join_tap(workplace& at, const nic_options& options);

}  // namespace freehca::hcactl
