// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a driver does with an adapter, on a machine whose adapter does not see the cache. Each has
// expectations of its own about what arrives.
#pragma once

#include <functional>
#include <vector>

#include <freehca/in_process/processor_cache.hpp>

namespace freehca::testing {

/// Called when the cache is there and the driver has done nothing yet, and before it goes.
struct cache_watch {
  std::function<void(in_process::processor_cache&)> begin, end;
};

struct scenario {
  const char* name;
  void (*run)(const cache_watch& watch);
};
const std::vector<scenario>& scenarios();

}  // namespace freehca::testing
