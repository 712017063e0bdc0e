// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "kept_targets.hpp"

#include <algorithm>

namespace freehca::fuzz {

kept_targets::~kept_targets() {
  while (!kept_.empty()) forget(kept_.begin()->first);
}

void kept_targets::forget(std::uint32_t state) {
  const auto at = kept_.find(state);
  {
    const arena::within inside(at->second->memory);
    delete at->second->on;
  }
  kept_.erase(at);
}

kept_targets::kept& kept_targets::of(std::uint32_t state) {
  if (const auto at = kept_.find(state); at != kept_.end()) return *at->second;
  if (kept_.size() == most)
    forget(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
             return a.second->used < b.second->used;
           })->first);
  auto made = std::make_unique<kept>();
  {
    const arena::within inside(made->memory);
    made->on = make_target(state).release();
  }
  made->memory.seal();
  return *kept_.emplace(state, std::move(made)).first->second;
}

std::uint64_t kept_targets::go(const std::uint8_t* data, std::size_t bytes, bool trace_wanted) {
  input from(data, bytes);
  const start begin = start_of(from);
  kept& k = of(begin.state);
  k.used = ++runs_;
  std::uint64_t trace = 0;
  {
    const arena::within inside(k.memory);
    k.on->go(from);
    if (trace_wanted) trace = k.on->trace();
    if (begin.thorough) k.on->check_thoroughly();
  }
  k.memory.restore();
  return trace;
}

}  // namespace freehca::fuzz
