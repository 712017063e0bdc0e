// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/device.hpp>

namespace freehca {

/// For device_setup::steering: device-managed steering.
status device_managed_steering(const device& d, layouts::image<layouts::init_hca>& to);

/// For device_setup::steering: device-managed steering if the device has it, or else the multicast
/// table.
status rules_or_multicast_table(const device& d, layouts::image<layouts::init_hca>& to);

/// Makes bring-up choose device-managed steering (kinds/flow_rule.hpp). Called when the budget is
/// complete. The multicast table then has the rules: at most 2^budget::log_mcgs of them. The driver
/// lends the whole table, and there are no objects of multicast.hpp. Errors of the bring-up at its
/// step init_hca: driver_error::unsupported (the device has no device-managed steering),
/// ::bad_argument (an entry has room for fewer queue pairs than the device asks for:
/// budget::log_mcg_entry_bytes).
///
/// If device-managed steering is not `required`, a device that does not have it steers by the
/// multicast table: device::steers_by_rules() then returns false. Entries that are too small for a
/// device that has it are an error in either case.
inline void steer_by_rules(device_setup& setup, bool required = true) {
  setup.steering = required ? &device_managed_steering : &rules_or_multicast_table;
  setup.budget.lent_mcgs = 1u << setup.budget.log_mcgs;
}

}  // namespace freehca
