// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The scenarios in which barriers are tested. A scenario runs the driver as it ships, beside an
// observer that knows what the device, or the driver, must never find.
#pragma once

#include <span>
#include <string>

#include "support/store_buffer.hpp"

namespace freehca::queues {

struct scenario {
  const char* name;
  /// Returns the observer's first complaint. Returns an empty string if the observer never finds a
  /// fault in any permitted order. Adds the barriers that the driver passed to `sites`.
  std::string (*run)(const testing::trial& which, testing::barrier_sites& sites);
};
using scenario_list = std::span<const scenario>;

scenario_list send_scenarios();        ///< posting to a send queue
scenario_list receive_scenarios();     ///< posting to a receive queue, shared or not
scenario_list completion_scenarios();  ///< reading and arming a completion queue
scenario_list event_scenarios();       ///< reading an event queue
scenario_list command_scenarios();     ///< the command channel

}  // namespace freehca::queues
