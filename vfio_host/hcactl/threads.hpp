// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/hca/easy/adapter.hpp>

#include "work.hpp"

namespace freehca::hcactl {

/// For so many owners beside the control owner.
easy::sizes size_for_threads(unsigned threads);
/// Bytes of memory that they let the device reach, beside device::dma_bytes().
std::size_t threads_bytes(unsigned threads);

/// Each owner, on a thread of its own, moves verified data; the control owner stays on this one,
/// and recovers the device as often as it is asked to.
findings move_data_by_threads(workplace& at, const threads_options& wanted);

}  // namespace freehca::hcactl
