// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The adapter that tests of the model run on: all that it can be, but for the capabilities that
// FREEHCA_WITHOUT names. So is shown which tests a capability has (tests/model/model_page.py). It
// refuses, too, what no source says that hardware refuses: so tests see which status stands for
// what.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <freehca/model/options.hpp>

namespace freehca::model::test {

inline options test_options() {
  options how;
  how.strict = true;  // what is taken by default has tests of its own
  const char* without = std::getenv("FREEHCA_WITHOUT");
  if (without == nullptr) return how;
  const auto set = capability_set::named(without);
  if (!set) {
    std::fprintf(stderr, "FREEHCA_WITHOUT=%s: no such capability; capability.hpp lists them\n",
                 without);
    std::abort();
  }
  how.without = *set;
  return how;
}

}  // namespace freehca::model::test
