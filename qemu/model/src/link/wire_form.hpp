// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <freehca/packets/wire_form.hpp>

#include "link/packet.hpp"

namespace freehca::model {

using packets::arrival;

/// The packet as it stands on the link: with ICRC and VCRC behind it.
std::vector<std::byte> to_wire(const packet& p);
/// The same. Reuses the memory of `p`.
inline std::vector<std::byte> to_wire(packet&& p) {
  return packets::to_wire(std::move(p.bytes));
}

/// The packet in bytes from LRH to VCRC; `p` is written when it is good.
arrival from_wire(std::span<const std::byte> bytes, packet& p);
/// The same; the packet stays in the memory of the bytes.
arrival from_wire(std::vector<std::byte>&& bytes, packet& p);

/// Is the word at `at`, as it stands on the link, the invariant CRC of the packet before it?
bool is_icrc_of(const packet& p, const std::byte* at);

}  // namespace freehca::model
