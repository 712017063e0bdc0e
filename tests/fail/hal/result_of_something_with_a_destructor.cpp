// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: static assertion failed|static_assert failed
#include <freehca/hal/status.hpp>
struct owner {
#ifndef FREEHCA_MAKE_IT_RIGHT
  ~owner() {}
#endif
};
freehca::result<owner> make();
freehca::result<owner> make() {
  return owner{};
}
