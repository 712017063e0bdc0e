// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/objects/verbs_events.hpp>

#include "objects.hpp"

namespace freehca::ibverbs {

/// The receivers of the driver's events, which put them into the queues of channels and contexts.
verbs_events event_receivers();
/// What the adapter_monitor of the engine reports to: events of ports, and their tables.
monitor_sinks monitor_receivers(engine& of);

/// Registers an open context for events that concern the port or the device.
void add_context(open_context& context);
void remove_context(open_context& context);
bool any_context();
/// In a forked child: the parent's contexts get no events here.
void forget_contexts();

}  // namespace freehca::ibverbs
