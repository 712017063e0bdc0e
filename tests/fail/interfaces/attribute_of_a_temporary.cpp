// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: deleted
#include <freehca/interfaces/attributes.hpp>

namespace freehca {
struct address {
  std::uint8_t raw[16];
};
inline constexpr attribute_name<address> target{0x8001};

attribute entry(const address& peer) {
#ifdef FREEHCA_MAKE_IT_RIGHT
  return target(peer);
#else
  return target(address(peer));
#endif
}
}  // namespace freehca
