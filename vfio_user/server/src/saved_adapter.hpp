// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "run_time_settings.hpp"

namespace freehca::device_server {

/// Why the state of the adapter cannot be saved now. "": it can.
std::string obstacle_to_saving(const served_adapter& of);

/// The state of the adapter and of its function, as a stream (state_stream.hpp). Must not be called
/// from inside the model. Precondition: obstacle_to_saving() returns "". The state of the client,
/// its memory and its eventfds, is not in the stream, and neither are packets on their way to or
/// from a cable.
std::vector<std::byte> save_adapter(served_adapter& of);

/// Gives an adapter this state. The command line of both servers says the same about everything
/// that a client sees. Settings that can be changed at run time get the values of the stream.
/// Returns "", or the reason for a refusal with both values. A refused adapter is as before.
std::string load_adapter(served_adapter& to, std::span<const std::byte> from);

}  // namespace freehca::device_server
