// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/model/options.hpp>

#include "fabric/mad_packet.hpp"

namespace freehca::model {

/// What becomes of the light at an Ethernet port's end of its cable.
enum class cable_light : std::uint8_t {
  no_module,  ///< no cable at all
  sent_only,  ///< nothing comes from the far end
  both_ways,
};

/// Is it Get(module_info), routed by LID?
bool asks_module(const mad_buffer& mad);

/// Turns that datagram into its answer: what an SFP+ module for 10 Gb/s by fibre has in its memory.
/// `kind` says what can be read of it, `serial` tells modules apart.
void read_module(mad_buffer& mad, variant kind, cable_light light, std::uint64_t serial);

}  // namespace freehca::model
