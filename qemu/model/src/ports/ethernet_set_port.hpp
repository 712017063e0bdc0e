// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/command.hpp"
#include "command/command_checks.hpp"
#include "ports/ethernet_settings.hpp"

namespace freehca::model {

/// SET_PORT in its Ethernet forms, of all selectors: changes `told` where nothing is refused.
void set_ethernet_port(command_checks& is, const command& c, layouts::set_port_selector selector,
                       ethernet_settings& told);

/// SET_PORT with the modifier "beacon".
void set_beacon(command_checks& is, const command& c, ethernet_settings& told);

}  // namespace freehca::model
