// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: bad_attribute_table
#include <freehca/interfaces/attributes.hpp>

namespace freehca {
namespace sample {
inline constexpr attribute_name<std::uint32_t> sends{0x8001};
#ifdef FREEHCA_MAKE_IT_RIGHT
inline constexpr attribute_name<std::uint32_t> receives{0x8002};
#else
inline constexpr attribute_name<std::uint32_t> receives{0x8001};
#endif
}  // namespace sample

struct wanted {
  std::uint32_t sends, receives;
};
extern constexpr auto known =
    attributes_of<wanted>({FREEHCA_ATTRIBUTE(wanted, sends, sample::sends),
                           FREEHCA_ATTRIBUTE(wanted, receives, sample::receives)});
}  // namespace freehca
