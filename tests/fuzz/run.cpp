// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "run.hpp"

namespace freehca::fuzz {

std::uint64_t run(const std::uint8_t* data, std::size_t bytes) {
  input from(data, bytes);
  const auto on = make_target(start_of(from).state);
  on->go(from);
  const std::uint64_t trace = on->trace();
  on->check_thoroughly();
  return trace;
}

}  // namespace freehca::fuzz
