// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/packets/wire_form.hpp>

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/packets/packet_crc.hpp>

namespace freehca::packets {

using namespace layouts;

namespace {

constexpr std::size_t trailer = icrc_bytes + vcrc_bytes;

/// Bytes up to the end of the BTH, as the LRH announces them; 0: there is none.
std::size_t headers_of(std::span<const std::byte> bytes) {
  if (bytes.size() < lrh::bytes) return 0;
  switch (image<lrh>::from_bytes(bytes.data()).get<&lrh::lnh>()) {
    case link_next_header::iba_local:
      return lrh::bytes + bth::bytes;
    case link_next_header::iba_global:
      return lrh::bytes + grh::bytes + bth::bytes;
    default:
      return 0;
  }
}

template <class Word>
void put(std::byte* at, Word crc) {
  for (std::size_t i = 0; i < sizeof crc; ++i)
    at[i] = static_cast<std::byte>(crc >> (8 * i) & 0xff);
}

template <class Word>
bool stands_at(const std::byte* p, Word crc) {
  for (std::size_t i = 0; i < sizeof crc; ++i)
    if (p[i] != static_cast<std::byte>(crc >> (8 * i) & 0xff)) return false;
  return true;
}

}  // namespace

std::vector<std::byte> to_wire(std::vector<std::byte> content) {
  const std::size_t length = content.size(), headers = headers_of(content);
  const bool has_transport = headers != 0 && length >= headers;
  content.resize(length + (has_transport ? icrc_bytes : 0) + vcrc_bytes);
  if (has_transport) put(content.data() + length, invariant_crc(std::span(content).first(length)));
  renew_variant_crc(content);
  return content;
}

arrival check_link(std::span<const std::byte> wire) {
  if (wire.size() < lrh::bytes + vcrc_bytes) return arrival::malformed;
  const auto covered = wire.first(wire.size() - vcrc_bytes);
  if (!stands_at(wire.data() + covered.size(), variant_crc(covered))) return arrival::bad_vcrc;
  const auto link = image<lrh>::from_bytes(wire.data());
  const std::size_t headers = headers_of(wire);
  if (headers == 0 || link.get<&lrh::link_version>() != 0 || wire.size() < headers + trailer ||
      wire.size() > greatest_packet_bytes(mtu_bytes(ib_mtu::mtu_4096)) ||
      link.get<&lrh::packet_length>() * 4 != covered.size())
    return arrival::malformed;
  return arrival::good;
}

arrival check(std::span<const std::byte> wire) {
  if (const arrival what = check_link(wire); what != arrival::good) return what;
  const auto content = content_of(wire);
  return is_invariant_crc_of(content, content.data() + content.size()) ? arrival::good
                                                                       : arrival::bad_icrc;
}

std::span<const std::byte> content_of(std::span<const std::byte> wire) {
  return wire.first(wire.size() - trailer);
}

void renew_variant_crc(std::span<std::byte> wire) {
  const std::size_t covered = wire.size() - vcrc_bytes;
  put(wire.data() + covered, variant_crc(wire.first(covered)));
}

bool is_invariant_crc_of(std::span<const std::byte> content, const std::byte* at) {
  return stands_at(at, invariant_crc(content));
}

}  // namespace freehca::packets
