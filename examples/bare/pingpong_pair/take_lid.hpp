// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/device.hpp>
#include <freehca/hca/objects/verbs.hpp>

namespace freehca::bare {

/// Waits until a subnet manager has made the port active. Returns transport_error::timeout if the
/// port is not active after `limit` nanoseconds, transport_error::gone if the device is not up any
/// more.
status await_active(const device& hca, verbs& in, unsigned port, std::uint64_t limit);

/// For a cable from host to host without a subnet manager: sends the management datagrams of a
/// subnet manager to the port's agent, so that the port gets the LID and becomes active. Each end
/// of the cable does this for its own port. Returns the errors of await_active(), and
/// transport_error::bad_reply if the agent refuses.
status take_lid(device& hca, verbs& in, unsigned port, std::uint16_t lid, std::uint64_t limit);

}  // namespace freehca::bare
