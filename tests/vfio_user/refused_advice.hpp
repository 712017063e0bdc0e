// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

namespace freehca::testing {

/// While one exists, madvise() fails with ENOMEM in this process.
class refused_advice {
 public:
  refused_advice();
  ~refused_advice();
  refused_advice(const refused_advice&) = delete;
  refused_advice& operator=(const refused_advice&) = delete;
};

}  // namespace freehca::testing
