// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/wire_form.hpp"

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/ib_types.hpp>

#include "link/packet_crc.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

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
void append(std::vector<std::byte>& to, Word crc) {
  for (std::size_t i = 0; i < sizeof crc; ++i)
    to.push_back(static_cast<std::byte>(crc >> (8 * i) & 0xff));
}

template <class Word>
bool stands_at(const std::byte* p, Word crc) {
  for (std::size_t i = 0; i < sizeof crc; ++i)
    if (p[i] != static_cast<std::byte>(crc >> (8 * i) & 0xff)) return false;
  return true;
}

}  // namespace

std::vector<std::byte> to_wire(const packet& p) {
  std::vector<std::byte> bytes;
  bytes.reserve(p.bytes.size() + icrc_bytes + vcrc_bytes);
  bytes = p.bytes;
  if (const std::size_t headers = headers_of(bytes); headers != 0 && bytes.size() >= headers)
    append(bytes, invariant_crc(bytes));
  append(bytes, variant_crc(bytes));
  return bytes;
}

arrival from_wire(std::span<const std::byte> bytes, packet& p) {
  constexpr std::size_t trailer = icrc_bytes + vcrc_bytes;
  if (bytes.size() < lrh::bytes + vcrc_bytes) return arrival::malformed;
  const auto covered = bytes.first(bytes.size() - vcrc_bytes);
  if (!stands_at(bytes.data() + covered.size(), variant_crc(covered))) return arrival::bad_vcrc;
  const auto link = image<lrh>::from_bytes(bytes.data());
  const std::size_t headers = headers_of(bytes);
  if (headers == 0 || link.get<&lrh::link_version>() != 0 || bytes.size() < headers + trailer ||
      bytes.size() > greatest_packet_bytes(mtu_bytes(ib_mtu::mtu_4096)) ||
      link.get<&lrh::packet_length>() * 4 != covered.size())
    return arrival::malformed;
  const auto content = bytes.first(bytes.size() - trailer);
  if (!stands_at(bytes.data() + content.size(), invariant_crc(content))) return arrival::bad_icrc;
  p.bytes.assign(content.begin(), content.end());
  return arrival::good;
}

bool is_icrc_of(const packet& p, const std::byte* at) {
  return stands_at(at, invariant_crc(p.bytes));
}

}  // namespace freehca::model
