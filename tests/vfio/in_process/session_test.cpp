// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The loop that drives the driver for hcactl and the examples.
#include <functional>

#include <gtest/gtest.h>

#include <freehca/loopback_traffic/traffic.hpp>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/every_kind.hpp>

#include <in_process_host.hpp>

namespace freehca::loopback_traffic {
namespace {

using blocking::in_process_host;

class watchful_host final : public in_process_host {
 public:
  void wait(std::uint64_t deadline) override {
    if (deadline != 0 && ended && ended()) slept_behind_the_end = true;
    in_process_host::wait(deadline);
  }
  std::function<bool()> ended;
  bool slept_behind_the_end = false;
};

/// Interrupted while something is waited for: that is cancelled. What gives back is not.
class interrupted_host final : public in_process_host {
 public:
  bool interrupted() const override { return wanted; }
  bool wanted = false;
};

TEST(session, an_interruption_cancels_what_is_waited_for_and_no_cleanup) {
  interrupted_host host;
  blocking::session s(host);
  ASSERT_TRUE(s.open().ok());
  ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
  const auto memory = s.wait(s.adapter().allocate(4096));
  ASSERT_TRUE(memory.ok());
  host.wanted = true;
  EXPECT_TRUE(s.wait(s.adapter().allocate(4096)).error().is(driver_error::cancelled));
  EXPECT_TRUE(s.finish(s.adapter().release(memory.value())).ok());
  EXPECT_EQ(s.adapter().places_taken(), 0u);
  EXPECT_TRUE(s.tear_down().ok());
  EXPECT_EQ(host.machine.adapter().complaints(), 0u);
}

TEST(session, does_not_sleep_once_what_it_waits_for_has_ended) {
  watchful_host host;
  blocking::session s(host, {.budget = {}, .objects = every_kind()});
  ASSERT_TRUE(s.open().ok());
  ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
  create_completion_queue c;
  c.start(s.adapter().objects(), {.entries = 4});
  host.ended = [&c] { return c.done(); };
  EXPECT_TRUE(s.wait(c).ok());
  EXPECT_FALSE(host.slept_behind_the_end);
  host.ended = nullptr;
  destroy_completion_queue d;
  d.start(s.adapter().objects(), c.made());
  EXPECT_TRUE(s.finish(d).ok());
  EXPECT_TRUE(s.tear_down().ok());
}

/// Nothing is there to take down, and so no command whose answer wakes the host.
TEST(session, does_not_sleep_behind_a_teardown_that_has_nothing_to_do) {
  watchful_host host;
  blocking::session s(host, {.budget = {}, .objects = every_kind()});
  ASSERT_TRUE(s.open().ok());
  operation down;
  s.adapter().hardware().tear_down(down);
  host.ended = [&down] { return down.done(); };
  EXPECT_TRUE(s.finish(down).ok());
  EXPECT_FALSE(host.slept_behind_the_end);
}

/// What `hcactl ping` may be asked for, all of it on the modelled adapter.
TEST(session, moves_verified_data_by_every_service) {
  using layouts::qp_service;
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud})
    for (const bool shared : {false, true})
      for (const bool counted : {false, true}) {
        watchful_host host;
        traffic_memory memory;
        blocking::session s(host, {.budget = {}, .objects = every_kind()});
        ASSERT_TRUE(s.open().ok());
        ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
        const traffic_result r = run_traffic(
            s, memory,
            {.messages = 3, .service = service, .shared_receives = shared, .counted = counted});
        EXPECT_TRUE(r.ok()) << static_cast<unsigned>(service) << shared << counted << ": "
                            << r.wrong;
        EXPECT_EQ(r.tallies.size(), service == qp_service::rc   ? 30u
                                    : service == qp_service::uc ? 20u
                                                                : 7u);
        // The traffic leaves nothing beside the adapter's own domain.
        const verbs_holdings left = s.adapter().objects().holdings();
        EXPECT_EQ(left.objects, 1u);
        EXPECT_EQ(left.request_bytes, 0u);
        EXPECT_TRUE(s.adapter().objects().destroy(s.adapter().domain()).ok());
        EXPECT_TRUE(s.adapter().objects().holdings().none());
        EXPECT_TRUE(s.tear_down().ok());
        EXPECT_EQ(host.machine.adapter().complaints(), 0u);
      }
}

}  // namespace
}  // namespace freehca::loopback_traffic
