// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <span>

#include "frames/checksum.hpp"

namespace freehca::model {

/// The addresses of an IP header, as they stand in the frame: source, destination. Neither for what
/// is not IP.
std::span<const std::byte> ip_addresses(std::span<const std::byte> bytes, const frame_headers& h);

/// Adds the pseudo header of IPv4 (RFC 9293) or IPv6 (RFC 8200, 8.1) in front of `length` bytes of
/// the protocol that the headers name. The destination is the header's own, also where a routing
/// header has another: no source, chosen.
void add_pseudo_header(ones_sum& sum, std::span<const std::byte> bytes, const frame_headers& h,
                       std::size_t length);

}  // namespace freehca::model
