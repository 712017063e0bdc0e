// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: constant expression
#include <freehca/layouts/eqc.hpp>
using namespace freehca::layouts;
#ifdef FREEHCA_MAKE_IT_RIGHT
constexpr auto i = image<eqc>{}.set<&eqc::log_eq_size>(31);
#else
constexpr auto i = image<eqc>{}.set<&eqc::log_eq_size>(32);
#endif
