// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/wires/descriptor.hpp>

namespace freehca::vfio_user {

using wires::descriptor;

}  // namespace freehca::vfio_user
