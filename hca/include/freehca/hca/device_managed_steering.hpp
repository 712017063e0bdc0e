// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/device.hpp>

namespace freehca {

/// For device_setup::steering: device-managed steering.
status device_managed_steering(const device& d, layouts::image<layouts::init_hca>& to);

/// Makes bring-up choose device-managed steering (kinds/flow_rule.hpp). Called when the budget is
/// complete. The multicast table then has the rules: at most 2^budget::log_mcgs of them. The driver
/// lends the whole table, and there are no objects of multicast.hpp. Errors of the bring-up at its
/// step init_hca: driver_error::unsupported (the device has no device-managed steering),
/// ::bad_argument (an entry has room for fewer queue pairs than the device asks for:
/// budget::log_mcg_entry_bytes).
inline void steer_by_rules(device_setup& setup) {
  setup.steering = &device_managed_steering;
  setup.budget.lent_mcgs = 1u << setup.budget.log_mcgs;
}

}  // namespace freehca
