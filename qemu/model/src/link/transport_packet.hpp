// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <freehca/layouts/headers.hpp>

#include "link/ingress.hpp"

namespace freehca::model {

/// A received packet as the transport sees it, whatever link it came by: from the BTH on. Points
/// into the packet that a link codec has unwrapped.
struct transport_packet {
  model::ingress ingress;
  layouts::image<layouts::bth> bth;
  const std::byte* rest = nullptr;  ///< behind the BTH, or behind the headers taken so far
  std::size_t rest_bytes = 0;       ///< without padding

  /// The BTH and what follows, `bytes` in all with the padding; nothing when there are too few.
  static std::optional<transport_packet> at(const std::byte* p, std::size_t bytes) {
    if (bytes < layouts::bth::bytes) return std::nullopt;
    transport_packet v;
    v.bth = layouts::image<layouts::bth>::from_bytes(p);
    const auto pad = static_cast<std::size_t>(v.bth.get<&layouts::bth::pad_count>());
    if (bytes < layouts::bth::bytes + pad) return std::nullopt;
    v.rest = p + layouts::bth::bytes;
    v.rest_bytes = bytes - layouts::bth::bytes - pad;
    return v;
  }

  /// Takes header T off the front of the rest; nothing when the packet is too short.
  template <class T>
  std::optional<layouts::image<T>> take() {
    if (rest_bytes < T::bytes) return std::nullopt;
    const auto header = layouts::image<T>::from_bytes(rest);
    rest += T::bytes;
    rest_bytes -= T::bytes;
    return header;
  }
  /// Of the whole packet, from its link's header to the padding.
  std::size_t packet_bytes() const {
    return static_cast<std::size_t>(rest - ingress.link_header) + rest_bytes +
           static_cast<std::size_t>(bth.get<&layouts::bth::pad_count>());
  }
  std::uint32_t destination() const {
    return static_cast<std::uint32_t>(bth.get<&layouts::bth::dest_qp>());
  }
  std::uint32_t psn() const { return static_cast<std::uint32_t>(bth.get<&layouts::bth::psn>()); }
};

}  // namespace freehca::model
