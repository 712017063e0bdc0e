// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>
#include <string>

#include <freehca/verified_traffic/traffic.hpp>
#include <freehca/vfio_host/failure.hpp>

#include "host.hpp"

namespace freehca::hcactl {

/// What a status of the driver means for a user of this tool, with the remedy. `doing`: "bring-up", "teardown" ...
vfio_host::failure verdict(const vfio_surroundings& host, verified_traffic::session& on, status s,
                           const char* doing, const std::string& address);

}  // namespace freehca::hcactl
