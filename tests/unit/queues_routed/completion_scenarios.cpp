// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion queues: the driver reads whole entries, and gives a place back after its last access.
#include <freehca/queues/cq.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "completion_world.hpp"
#include "observer.hpp"
#include "scenario.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using namespace freehca::testing;

/// Two completions through a ring of one place. The device overwrites the first one as soon as the
/// consumer index in the record says that the driver has read it.
template <class Take>
std::string one_place(load_run& run, completion_kind kind, Take take) {
  completion_world w(0, kind);
  run.device_writes(w.place(0), w.entry(0, false).data(), cqe::bytes);
  run.device_waits_for(bytes_of(w.record));
  run.device_writes(w.place(0), w.entry(1, true).data(), cqe::bytes);
  run.start();
  std::vector<work_completion> got;
  take(w, got);
  run.settle();
  while (take(w, got) != 0) {
  }
  if (w.queue.dropped() != 0) return "a completion was dropped";
  for (unsigned i = 0; i < got.size() && i < 2; ++i)
    if (std::string wrong = w.judge(got[i], i, i == 1); !wrong.empty()) return wrong;
  return got.size() == 2 ? "" : "a completion too many or too few";
}
std::string polled(const trial& which, barrier_sites& sites, completion_kind kind) {
  return explore(
      [&](load_run& run) {
        return one_place(run, kind, [](completion_world& w, std::vector<work_completion>& to) {
          work_completion each;
          const unsigned n = w.queue.poll(&each, 1);
          if (n != 0) to.push_back(each);
          return n;
        });
      },
      which, sites);
}
std::string polled_sends(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completion_kind::sends);
}
std::string polled_receives(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completion_kind::receives);
}
std::string polled_shared_receives(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completion_kind::shared);
}
std::string polled_errors(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completion_kind::errors);
}
std::string taken_with_named_queues(const trial& which, barrier_sites& sites, completion_kind kind,
                                    unsigned most) {
  return explore(
      [&](load_run& run) {
        return one_place(run, kind, [most](completion_world& w, std::vector<work_completion>& to) {
          work_completion each[2];
          const auto named = [](void* in, std::uint32_t srqn) {
            return static_cast<completion_world*>(in)->named(srqn);
          };
          const bool received =
              most == 1 &&
              w.queue.take_named_receive(*each, [&w](std::uint32_t srqn) { return w.named(srqn); });
          const unsigned n = received ? 1 : w.queue.take_named(each, most, named, &w);
          to.insert(to.end(), each, each + n);
          return n;
        });
      },
      which, sites);
}
std::string taken_with_a_named_queue(const trial& which, barrier_sites& sites) {
  return taken_with_named_queues(which, sites, completion_kind::named, 1);
}
std::string taken_together_with_named_queues(const trial& which, barrier_sites& sites) {
  return taken_with_named_queues(which, sites, completion_kind::named, 2);
}
std::string taken_without_a_named_queue(const trial& which, barrier_sites& sites) {
  return taken_with_named_queues(which, sites, completion_kind::receives, 1);
}
/// The driver reads the view just before release() gives its place back.
std::string looked_at_sends(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) {
        return one_place(
            run, completion_kind::sends, [](completion_world& w, std::vector<work_completion>& to) {
              std::vector<completion_view> views;
              const unsigned given =
                  w.queue.look(1, [&](const completion_view& each) { views.push_back(each); });
              for (const completion_view& each : views) to.push_back(copy_of(each));
              if (given != 0) w.queue.release();
              return given;
            });
      },
      which, sites);
}

/// The received data are in memory when the driver finds the completion.
std::string received_data(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        completion_world w(0, completion_kind::receives);
        std::vector<std::uint64_t> data(1);
        const std::uint64_t written = 0xdada;
        run.device_writes(bytes_of(data), &written, 8);
        run.device_writes(w.place(0), w.entry(0, false).data(), cqe::bytes);
        run.start();
        work_completion each;
        if (w.queue.poll(&each, 1) == 0) return {};
        std::uint64_t seen = 0;
        dma::load_bytes(reinterpret_cast<std::byte*>(&seen), bytes_of(data), 8);
        return seen == written ? "" : "a completion, and the data are not there";
      },
      which, sites);
}

/// forget() removes the completions of pair 0. Meanwhile the device writes a completion of pair 1
/// into a place that held one of pair 0 in the previous round.
std::string forgotten_beside_an_arrival(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        completion_world w(0, completion_kind::sends);
        work_completion each;
        std::memcpy(w.place(0), w.entry(0, false).data(), cqe::bytes);
        EXPECT_EQ(w.queue.poll(&each, 1), 1u);
        run.device_writes(w.place(0), w.entry(1, true).data(), cqe::bytes);
        run.start();
        w.queue.forget(w.pairs[0].rings);
        run.settle();
        if (w.queue.poll(&each, 1) != 1) return "a completion of a living queue pair is lost";
        return w.judge(each, 1, true);
      },
      which, sites);
}

/// forget() moves a completion of pair 1 over one of pair 0. After poll() has given that place back
/// to the device, no store of the driver may arrive there.
std::string moved_and_given_back(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  completion_world w(1, completion_kind::sends);
  std::memcpy(w.place(0), w.entry(1, false).data(), cqe::bytes);
  std::memcpy(w.place(1), w.entry(0, false).data(), cqe::bytes);
  buffer.watch(w.place(0), 64);
  buffer.watch(bytes_of(w.record), 8);
  buffer.record();
  w.queue.forget(w.pairs[0].rings);
  work_completion each;
  EXPECT_EQ(w.queue.poll(&each, 1), 1u);
  EXPECT_EQ(w.judge(each, 1, false), "");
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        if (seen.word(bytes_of(w.record)) == 2 && !same(seen, last, w.place(1), 32))
          return "a place is given back, and the driver's store to it is yet to come";
        return {};
      },
      which);
}

/// move_to() copies a completion that the device writes meanwhile, or does not see it.
std::string moved_to_another_ring(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        completion_world w(0, completion_kind::sends, 64);
        std::vector<std::uint64_t> other(16);
        run.device_writes(w.place(0), w.entry(0, false).data(), cqe::bytes);
        run.start();
        EXPECT_TRUE(w.queue.move_to({bytes_of(other), 0x3000, cq::ring_bytes(1, 64)}, 1).ok());
        run.settle();
        work_completion each;
        return w.queue.poll(&each, 1) == 0 ? "" : w.judge(each, 0, false);
      },
      which, sites);
}

std::string arming(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  completion_world w(1, completion_kind::sends);
  std::memcpy(w.place(0), w.entry(0, false).data(), cqe::bytes);
  buffer.watch(bytes_of(w.record), 8);
  buffer.watch(bytes_of(w.uar), 64);
  buffer.record();
  work_completion each;
  EXPECT_EQ(w.queue.poll(&each, 1), 1u);
  w.queue.arm();
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        if (seen.word(bytes_of(w.uar) + uar::cq_doorbell) == 0) return {};
        if (!same(seen, last, bytes_of(w.record) + 4, 4)) return "armed by an old record";
        if (!same(seen, last, bytes_of(w.record), 4)) return "armed with an old consumer counter";
        return {};
      },
      which);
}

}  // namespace

scenario_list completion_scenarios() {
  static constexpr scenario all[] = {
      {"polled sends", polled_sends},
      {"polled receives", polled_receives},
      {"polled shared receives", polled_shared_receives},
      {"taken with a named queue", taken_with_a_named_queue},
      {"taken together with named queues", taken_together_with_named_queues},
      {"taken without a named queue", taken_without_a_named_queue},
      {"polled errors", polled_errors},
      {"looked at sends", looked_at_sends},
      {"received data", received_data},
      {"forgotten beside an arrival", forgotten_beside_an_arrival},
      {"moved and given back", moved_and_given_back},
      {"moved to another ring", moved_to_another_ring},
      {"arming", arming},
  };
  return all;
}

}  // namespace freehca::queues
