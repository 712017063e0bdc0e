// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Event queues: the driver reads whole entries, and after an entry what the entry announces.
#include <freehca/queues/eq.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "completion_world.hpp"
#include "event_world.hpp"
#include "observer.hpp"
#include "scenario.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using namespace freehca::testing;

/// Two events through a ring of one place. The driver writes its consumer index after each event.
std::string events(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        event_world w;
        run.device_writes(bytes_of(w.ring), w.entry(0, false).data(), eqe::bytes);
        run.device_waits_for(bytes_of(w.doorbell));
        run.device_writes(bytes_of(w.ring), w.entry(1, true).data(), eqe::bytes);
        run.start();
        image<eqe> e;
        unsigned count = 0;
        for (int look = 0; look < 3; ++look) {
          if (look == 1) run.settle();
          if (!w.queue.next(e)) continue;
          if (std::memcmp(e.data(), w.entry(count, count == 1).data(), eqe::bytes) != 0)
            return "an event of two entries";
          ++count;
        }
        return count == 2 ? "" : "an event is lost";
      },
      which, sites);
}

/// The device writes a completion, and then the event that announces it.
std::string events_of_completions(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        event_world w;
        completion_world c(0, completion_kind::receives);
        run.device_writes(c.place(0), c.entry(0, false).data(), cqe::bytes);
        run.device_writes(bytes_of(w.ring), w.entry(0, false).data(), eqe::bytes);
        run.start();
        image<eqe> e;
        if (!w.queue.next(e)) return {};
        work_completion each;
        if (c.queue.poll(&each, 1) != 1) return "an event, and nothing in the completion queue";
        return c.judge(each, 0, false);
      },
      which, sites);
}

}  // namespace

scenario_list event_scenarios() {
  static constexpr scenario all[] = {
      {"events", events},
      {"events of completions", events_of_completions},
  };
  return all;
}

}  // namespace freehca::queues
