// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::fuzz {

/// The driver against an adapter that lies as the input says: bring-up, queue pairs made and used by several tasks
/// at the same time, teardown. Afterwards the adapter is honest, and the driver has to be: everything given back,
/// and, unless the adapter was pulled, a bring-up that works. Traps when it is not, and says why.
void run_driver(const std::uint8_t* data, std::size_t bytes);

}  // namespace freehca::fuzz
