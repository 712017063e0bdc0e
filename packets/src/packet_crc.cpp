// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/packets/packet_crc.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <freehca/layouts/headers.hpp>

#include <freehca/packets/crc.hpp>
#include <freehca/packets/folded_crc.hpp>

namespace freehca::packets {

using namespace layouts;

namespace {

template <class Word>
struct code {
  crc_tables<Word> tables;
  fold_factors factors;

  explicit constexpr code(Word polynomial)
      : tables(make_crc_tables<Word>(polynomial)), factors(make_fold_factors(polynomial)) {}
};
constexpr code<std::uint32_t> icrc{icrc_polynomial};
constexpr code<std::uint16_t> vcrc{vcrc_polynomial};

/// Whether a CRC of `width` bytes over so many is folded. Packets are whole words long. Of another
/// length, the first bytes could be too few for the ones that a CRC begins with.
bool folds(std::size_t bytes, std::size_t width) {
  const std::size_t odd = bytes % fold_block;
  return bytes > fold_block && (odd == 0 || odd >= width) && can_fold();
}

/// The CRC over a packet, begun with all ones.
template <class Word>
Word folded(const code<Word>& by, const fold_mask& mask, std::span<const std::byte> packet) {
  std::array<std::byte, fold_block> remainder;
  fold(by.factors, static_cast<Word>(~Word{0}), mask, packet, remainder.data());
  return advance_crc(by.tables, Word{0}, remainder);
}

/// What routers and switches change counts as ones. Headers with ones there and zeros elsewhere:
template <std::size_t bytes>
using variants = std::array<std::byte, bytes + 2 * fold_block>;
constexpr std::size_t local_headers = lrh::bytes + bth::bytes;
constexpr variants<local_headers> local_variants = [] {
  variants<local_headers> ones{};
  const auto link = image<lrh>{}.set<&lrh::virtual_lane>(0xf);
  const auto base = image<bth_variant>{}.set<&bth_variant::resv8a>(0xff);
  std::copy_n(link.data(), lrh::bytes, ones.data());
  std::copy_n(base.data(), bth::bytes, ones.data() + lrh::bytes);
  return ones;
}();
constexpr std::size_t global_headers = lrh::bytes + grh::bytes + bth::bytes;
constexpr variants<global_headers> global_variants = [] {
  variants<global_headers> ones{};
  const auto route = image<grh>{}
                         .set<&grh::traffic_class>(0xff)
                         .set<&grh::flow_label>(0xfffff)
                         .set<&grh::hop_limit>(0xff);
  const auto base = image<bth_variant>{}.set<&bth_variant::resv8a>(0xff);
  std::fill_n(ones.data(), lrh::bytes, std::byte{0xff});  // routers write a new one
  std::copy_n(route.data(), grh::bytes, ones.data() + lrh::bytes);
  std::copy_n(base.data(), bth::bytes, ones.data() + lrh::bytes + grh::bytes);
  return ones;
}();

template <std::size_t bytes>
std::uint32_t invariant_crc_of(const std::byte* ones, std::span<const std::byte> packet) {
  if (folds(packet.size(), icrc_bytes)) return ~folded(icrc, {ones, bytes}, packet);
  std::array<std::byte, bytes> headers;
  for (std::size_t i = 0; i < bytes; ++i) headers[i] = packet[i] | ones[i];
  return invariant_crc(headers, packet.subspan(bytes));
}

}  // namespace

std::uint32_t invariant_crc(std::span<const std::byte> packet) {
  const auto link = image<lrh>::from_bytes(packet.data());
  const bool global = link.get<&lrh::lnh>() == link_next_header::iba_global;
  return global ? invariant_crc_of<global_headers>(global_variants.data(), packet)
                : invariant_crc_of<local_headers>(local_variants.data(), packet);
}

std::uint32_t invariant_crc(std::span<const std::byte> headers, std::span<const std::byte> rest) {
  return ~advance_crc(icrc.tables, advance_crc(icrc.tables, ~std::uint32_t{0}, headers), rest);
}

std::uint16_t variant_crc(std::span<const std::byte> packet) {
  const std::uint16_t crc = folds(packet.size(), vcrc_bytes)
                                ? folded(vcrc, {}, packet)
                                : advance_crc(vcrc.tables, std::uint16_t{0xffff}, packet);
  return static_cast<std::uint16_t>(~crc);
}

}  // namespace freehca::packets
