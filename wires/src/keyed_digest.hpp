// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace freehca::wires {

/// Whether this build has the function.
extern const bool has_keyed_digest;

/// HMAC-SHA-256 (RFC 2104). It makes no system call. Without the function all bytes are zero.
std::array<std::byte, 32> keyed_digest(std::span<const std::byte> key,
                                       std::span<const std::byte> text);

}  // namespace freehca::wires
