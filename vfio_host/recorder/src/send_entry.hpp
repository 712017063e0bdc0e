// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/qpc.hpp>

#include "entries.hpp"

namespace freehca::recorder {

/// Clears inline bytes of a send WQE, and what stands behind its last segment but for the first
/// word of each block of 64 bytes, which the adapter looks at.
void leave_payload_out(bytes& wqe, layouts::qp_service service);

}  // namespace freehca::recorder
