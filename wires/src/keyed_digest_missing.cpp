// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For builds without nettle. read_hello_options() then refuses each secret.
#include "keyed_digest.hpp"

namespace freehca::wires {

const bool has_keyed_digest = false;

std::array<std::byte, 32> keyed_digest(std::span<const std::byte>, std::span<const std::byte>) {
  return {};
}

}  // namespace freehca::wires
