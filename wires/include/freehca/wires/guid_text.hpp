// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace freehca::wires {

/// The permitted forms of a GUID, for messages.
inline constexpr const char* guid_allowed =
    "16 hexadecimal digits that are not all zero, as in 0x0002c90300f0ca00 or "
    "0002:c903:00f0:ca00";

/// Parses 16 hexadecimal digits, with 0x before them or colons between them. Zero is refused.
std::optional<std::uint64_t> guid_of(const std::string& text);

}  // namespace freehca::wires
