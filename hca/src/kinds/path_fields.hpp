// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Fields that address vectors of both link layers have.
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/address_attributes.hpp>

namespace freehca {

/// Replaces a rate by its code. Error: driver_error::bad_argument (attribute_id::static_rate).
status set_static_rate(std::uint8_t& rate, verbs& in);

void set_dgid(layouts::image<layouts::address_vector>& to, const gid& dgid);

}  // namespace freehca
