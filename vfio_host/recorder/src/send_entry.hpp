// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/qpc.hpp>

#include "entries.hpp"

namespace freehca::recorder {

/// Clears the inline bytes of a send WQE and the bytes after its last segment, except the first
/// word of each block of 64 bytes, which the adapter reads.
void leave_payload_out(bytes& wqe, layouts::qp_service service);

}  // namespace freehca::recorder
