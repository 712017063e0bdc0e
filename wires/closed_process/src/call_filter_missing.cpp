// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For builds without libseccomp.
#include "call_filter.hpp"

namespace freehca::closed_process {

std::string load_call_filter(const permissions&) {
  return "this build has no libseccomp (Debian: libseccomp-dev)";
}

}  // namespace freehca::closed_process
