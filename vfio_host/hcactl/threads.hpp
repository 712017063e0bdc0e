// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/easy/adapter.hpp>

#include "work.hpp"

namespace freehca::hcactl {

/// The sizes of the driver for `threads` event owners beside the control owner.
easy::sizes size_for_threads(unsigned threads);
/// Bytes of memory that the threads map for the device, beyond device::dma_bytes().
std::size_t threads_bytes(unsigned threads);

/// Each event owner moves verified data on its own thread. The control owner stays on this thread
/// and recovers the device as often as the settings say.
findings move_data_by_threads(workplace& at, const threads_options& settings);

}  // namespace freehca::hcactl
