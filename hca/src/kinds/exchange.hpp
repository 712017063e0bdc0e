// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/objects/object.hpp>

namespace freehca {

template <class T>
void exchange(T& one, T& other) {
  const T was = one;
  one = other;
  other = was;
}

/// Counts the translations of an object, and the memory behind them, as what its commands put at
/// risk.
inline void set_translations_at_risk(device_object& object) {
  object.at_risk.set_amount(lease_kind::mapping, object.translation_count);
  object.at_risk.set_amount(lease_kind::buffer, object.translation_count);
}

}  // namespace freehca
