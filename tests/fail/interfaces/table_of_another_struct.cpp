// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: no matching function
#include <freehca/interfaces/attributes.hpp>

namespace freehca {
namespace sample {
inline constexpr attribute_name<std::uint32_t> sends{0x8001};
}

struct wanted {
  std::uint32_t sends;
};
struct other {
  std::uint32_t sends;
};
constexpr auto known = attributes_of<wanted>({FREEHCA_ATTRIBUTE(wanted, sends, sample::sends)});

status reading(const attribute_list& list) {
#ifdef FREEHCA_MAKE_IT_RIGHT
  wanted to{};
#else
  other to{};
#endif
  return read(list, known, to);
}
}  // namespace freehca
