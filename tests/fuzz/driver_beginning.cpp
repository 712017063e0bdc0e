// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "driver_beginning.hpp"

#include <algorithm>

#include "run.hpp"

namespace freehca::fuzz {

start start_of(input& from) {
  constexpr unsigned thorough_each = 256;
  const bool thorough = from.mark() % thorough_each == 0;
  beginning where;
  const unsigned which = from.byte();
  where.machine = which % beginning::infiniband_machines;
  // Most inputs begin on a device that is up: a bring-up takes as long as many of what comes after
  // it.
  constexpr unsigned cold = 8, each = 8, connected = 80, every_object = 0xc0;
  const unsigned what = from.byte();
  where.point = what < cold        ? 0
                : what < connected ? std::min(1 + (what - cold) / each, beginning::up)
                                   : beginning::connected;
  if (what >= every_object) {
    constexpr unsigned others = beginning::machines.size() - beginning::infiniband_machines;
    where.machine = beginning::infiniband_machines + which % others;
    where.point = beginning::every_object;
  }
  // One in four of those that begin in a bring-up.
  where.goes_on = where.point >= beginning::up || which / beginning::infiniband_machines % 4 == 0;
  return {where.number(), thorough};
}

}  // namespace freehca::fuzz
