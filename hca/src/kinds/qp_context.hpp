// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/status.hpp>
#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// Returns the mailbox of a transition to INIT, RTR or RTS. Errors: driver_error::bad_argument (the
/// device or the IBTA specification does not have the value of an attribute), ::unsupported (the
/// port is not an InfiniBand port).
result<layouts::image<layouts::qp_mailbox>> qp_mailbox_for(const queue_pair& pair,
                                                           layouts::qp_state to,
                                                           const connection_attributes& a);

}  // namespace freehca
