// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: the attribute has another type than the member
#include <freehca/interfaces/attributes.hpp>

namespace freehca {
namespace sample {
inline constexpr attribute_name<std::uint32_t> sends{0x8001};
}

struct wanted {
#ifdef FREEHCA_MAKE_IT_RIGHT
  std::uint32_t sends;
#else
  std::uint16_t sends;
#endif
};
extern constexpr auto known =
    attributes_of<wanted>({FREEHCA_ATTRIBUTE(wanted, sends, sample::sends)});
}  // namespace freehca
