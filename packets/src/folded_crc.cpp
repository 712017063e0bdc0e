// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/packets/folded_crc.hpp>

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace freehca::packets {

#if defined(__x86_64__)

namespace {

__m128i load(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

/// Zeros, and the positions of a block's bytes. Read n bytes from its start on, it moves a block's
/// first n bytes to the block's end and fills with zeros.
constexpr auto moves = [] {
  std::array<std::byte, 2 * fold_block> all{};
  for (std::size_t i = 0; i < fold_block; ++i) {
    all[i] = std::byte{0xff};
    all[fold_block + i] = static_cast<std::byte>(i);
  }
  return all;
}();

}  // namespace

bool can_fold() {
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("ssse3") != 0;
}

[[gnu::target("pclmul,ssse3")]] void fold(const fold_factors& by, std::uint32_t begun,
                                          const fold_mask& mask, std::span<const std::byte> packet,
                                          std::byte* to) {
  const std::byte* const p = packet.data();
  const __m128i factors =
      _mm_set_epi64x(static_cast<long long>(by.second), static_cast<long long>(by.first));
  // The bytes that do not fill a block come first, behind zeros: the CRC of zeros is 0.
  const std::size_t odd = packet.size() % fold_block;
  __m128i sum = load(p);
  if (mask.bytes != 0) sum = _mm_or_si128(sum, load(mask.ones));
  sum = _mm_xor_si128(sum, _mm_cvtsi32_si128(static_cast<int>(begun)));
  std::size_t at = fold_block;
  if (odd != 0) {
    sum = _mm_shuffle_epi8(sum, load(moves.data() + odd));
    at = odd;
  }
  for (; at < packet.size(); at += fold_block) {
    constexpr int low_by_low = 0x00, high_by_high = 0x11;
    __m128i next = load(p + at);
    if (at < mask.bytes) next = _mm_or_si128(next, load(mask.ones + at));
    const __m128i first = _mm_clmulepi64_si128(sum, factors, low_by_low);
    const __m128i second = _mm_clmulepi64_si128(sum, factors, high_by_high);
    sum = _mm_xor_si128(_mm_xor_si128(first, second), next);
  }
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), sum);
}

#else

bool can_fold() {
  return false;
}
void fold(const fold_factors&, std::uint32_t, const fold_mask&, std::span<const std::byte>,
          std::byte*) {}

#endif

}  // namespace freehca::packets
