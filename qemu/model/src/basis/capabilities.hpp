// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/model/capability.hpp>
#include <freehca/model/options.hpp>

#include "basis/identity.hpp"

namespace freehca::model {

/// Has the adapter this capability? Whatever depends on one asks here: what is reported, and what
/// is refused.
constexpr bool offers(const options& how, capability c) {
  if (how.without.has(c)) return false;
  const identity& who = identity_of(how.kind);
  switch (c) {
    case capability::large_entries:
      return who.large_entries;
    case capability::clock:
      return who.clock_mhz != 0;
    case capability::device_managed_steering:
      return who.device_managed_steering;
    case capability::memory_windows:
      return how.kind != variant::connectx2;  // captures
    case capability::ipoib_steering:
      return offers(how, capability::device_managed_steering);
    default:
      return true;
  }
}

/// Does DIAG_RPRT count by port? No capture tells (QUERY_DEV_CAP, diag_per_port): chosen, that the
/// firmware of the third generation does.
constexpr bool counts_by_port(variant v) {
  return v != variant::connectx2;
}

}  // namespace freehca::model
