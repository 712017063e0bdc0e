// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/device.hpp>
#include <freehca/hca/objects/verbs.hpp>

namespace freehca::bare {

/// Waits until somebody's subnet manager has made the port active. transport_error::timeout: nobody
/// did until `limit` nanoseconds had passed; ::gone: the device is not up any more.
status await_active(const device& hca, verbs& in, unsigned port, std::uint64_t limit);

/// Where nobody manages the subnet, on a cable from host to host: the port gets its LID and becomes
/// active, by what a subnet manager would tell its agent. Each end does that for itself. As
/// await_active(), and transport_error::bad_reply when the agent refuses.
status take_lid(device& hca, verbs& in, unsigned port, std::uint16_t lid, std::uint64_t limit);

}  // namespace freehca::bare
