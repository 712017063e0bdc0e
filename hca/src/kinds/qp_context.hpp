// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/status.hpp>
#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// What a transition to INIT, RTR or RTS hands to the firmware. driver_error::bad_argument: an
/// attribute that the device or the architecture does not have.
result<layouts::image<layouts::qp_mailbox>> qp_mailbox_for(const queue_pair& pair,
                                                           layouts::qp_state to,
                                                           const connection_attributes& a);

}  // namespace freehca
