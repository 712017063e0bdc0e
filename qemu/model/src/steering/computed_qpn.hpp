// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/layouts/set_port.hpp>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// A0 steering: who gets a frame, by the numbers that SET_PORT gave the port. `mac_index`: where
/// the frame's destination stands in the port's table of MACs. Nothing: nobody.
std::optional<std::uint32_t> computed_qpn(const layouts::image<layouts::set_port_rqp_calc>& numbers,
                                          const frame_headers& frame,
                                          std::optional<unsigned> mac_index);

}  // namespace freehca::model
