// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "keyed_digest.hpp"

#include <nettle/hmac.h>
#include <nettle/version.h>

#include <cstdint>

namespace freehca::wires {

const bool has_keyed_digest = true;

std::array<std::byte, 32> keyed_digest(std::span<const std::byte> key,
                                       std::span<const std::byte> text) {
  static_assert(SHA256_DIGEST_SIZE == 32);
  std::array<std::byte, 32> digest{};
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, key.size(), reinterpret_cast<const std::uint8_t*>(key.data()));
  hmac_sha256_update(&context, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  auto* const to = reinterpret_cast<std::uint8_t*>(digest.data());
  // Nettle 4.0 took the length away: its NEWS, "the digest functions".
#if NETTLE_VERSION_MAJOR >= 4
  hmac_sha256_digest(&context, to);
#else
  hmac_sha256_digest(&context, digest.size(), to);
#endif
  return digest;
}

}  // namespace freehca::wires
