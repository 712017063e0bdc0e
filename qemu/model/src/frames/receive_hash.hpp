// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <freehca/layouts/qpc.hpp>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// What receive-side scaling makes of a frame: which of the queue pairs takes it.
struct receive_hash {
  std::uint32_t value = 0;
  bool hashed = false;  ///< else the default queue pair takes it
  bool udp = false;     ///< by its ports, as UDP: `base_qpn_udp` counts
};

/// `fragments`: INIT_HCA's rss_ip_fragments.
receive_hash receive_hash_of(const frame_view& frame,
                             const layouts::image<layouts::rss_context>& context, bool fragments);

inline constexpr std::size_t receive_hash_key_bytes = 40;
/// Addresses of IPv6 and ports: as many bytes as the key has bits for.
inline constexpr std::size_t receive_hash_input_most = 36;

/// The hash that Microsoft's RSS documentation defines, the key's most significant bit first. The
/// input has receive_hash_input_most bytes at most.
std::uint32_t toeplitz_hash(std::span<const std::byte, receive_hash_key_bytes> key,
                            std::span<const std::byte> input);

/// The 32-bit words of the input, exclusive or. No source tells what cards do: chosen. The input is
/// whole words.
std::uint32_t exclusive_or_hash(std::span<const std::byte> input);

}  // namespace freehca::model
