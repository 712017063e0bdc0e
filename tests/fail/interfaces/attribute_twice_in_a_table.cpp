// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: bad_attribute_table
#include <freehca/interfaces/attributes.hpp>

namespace freehca {
namespace sample {
inline constexpr attribute_name<0x8001, std::uint32_t> sends;
#ifdef FREEHCA_MAKE_IT_RIGHT
inline constexpr attribute_name<0x8002, std::uint32_t> receives;
#else
inline constexpr attribute_name<0x8001, std::uint32_t> receives;
#endif
}  // namespace sample

struct wanted {
  std::uint32_t sends, receives;
};
extern constexpr auto known =
    attributes_of<wanted>({FREEHCA_ATTRIBUTE(wanted, sends, sample::sends),
                           FREEHCA_ATTRIBUTE(wanted, receives, sample::receives)});
}  // namespace freehca
