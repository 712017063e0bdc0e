// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "frames/frame.hpp"
#include "link/packet.hpp"
#include "link/roce_addresses.hpp"

namespace freehca::model {

/// The packet as it stands on an Ethernet link: with its ICRC. What is short is padded, and the FCS
/// added, by the port.
frame to_frame(const packet& p);

/// Does the NIC's transport take a frame that came by `port`, or is it the network driver's? Looks
/// at EtherType or UDP port, and at the addresses of both layers; what else is wrong with it,
/// from_frame() says. `bytes`: with ICRC and padding, or without.
bool is_roce_of(std::span<const std::byte> bytes, unsigned port, const roce_addresses& own);

enum class roce_arrival : std::uint8_t { good, malformed, bad_icrc };

/// The packet in a frame of RoCE, without the frame's padding; `p` is written when it is good, and
/// `why` when it is not.
roce_arrival from_frame(std::span<const std::byte> bytes, packet& p, std::string& why);

/// Is the word at `at`, as it stands on the link, the invariant CRC of the packet before it? The
/// packet must be one that roce_headers::of() takes.
bool is_roce_icrc_of(const packet& p, const std::byte* at);

}  // namespace freehca::model
