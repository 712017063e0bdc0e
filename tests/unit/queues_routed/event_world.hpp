// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An event queue of one place, and the entries that the device writes to it.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <freehca/queues/eq.hpp>

#include <gtest/gtest.h>

#include "observer.hpp"

namespace freehca::queues {

struct event_world {
  event_world() {
    EXPECT_TRUE(queue.open({{bytes_of(ring), 0x1000, 32}, 0, 32, {bytes_of(doorbell), 8}}).ok());
  }
  static layouts::image<layouts::eqe_command> entry(unsigned i, bool owner) {
    using namespace layouts;
    image<eqe_command> e;
    std::memset(e.data(), 0x21 + static_cast<int>(i), eqe::bytes);
    e.set<&eqe::owner>(owner);
    return e;
  }
  std::vector<std::uint64_t> ring = std::vector<std::uint64_t>(4),
                             doorbell = std::vector<std::uint64_t>(1);
  eq queue;
};

}  // namespace freehca::queues
