// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The loop that drives the driver for hcactl and the examples.
#include <functional>

#include <gtest/gtest.h>

#include <freehca/verified_traffic/traffic.hpp>

#include "in_process_host.hpp"

namespace freehca::verified_traffic {
namespace {

class watchful_host final : public in_process_host {
 public:
  void wait(std::uint64_t deadline) override {
    if (deadline != 0 && ended && ended()) slept_behind_the_end = true;
    in_process_host::wait(deadline);
  }
  std::function<bool()> ended;
  bool slept_behind_the_end = false;
};

TEST(session, does_not_sleep_once_what_it_waits_for_has_ended) {
  watchful_host host;
  session s(host);
  ASSERT_TRUE(s.open(false).ok());
  ASSERT_TRUE(s.bring_up().ok());
  create_completion_queue c;
  c.start(s.objects(), {.entries = 4});
  host.ended = [&c] { return c.done(); };
  EXPECT_TRUE(s.await(c).ok());
  EXPECT_FALSE(host.slept_behind_the_end);
  host.ended = nullptr;
  destroy_completion_queue d;
  d.start(s.objects(), c.made());
  EXPECT_TRUE(s.await_cleanup(d).ok());
  EXPECT_TRUE(s.tear_down().ok());
}

/// Nothing is there to take down, and so no command whose answer wakes the host.
TEST(session, does_not_sleep_behind_a_teardown_that_has_nothing_to_do) {
  watchful_host host;
  session s(host);
  ASSERT_TRUE(s.open(false).ok());
  operation down;
  s.adapter().tear_down(down);
  host.ended = [&down] { return down.done(); };
  EXPECT_TRUE(s.await_cleanup(down).ok());
  EXPECT_FALSE(host.slept_behind_the_end);
}

/// What `hcactl ping` may be asked for, all of it on the modelled adapter.
TEST(session, moves_verified_data_by_every_service) {
  using layouts::qp_service;
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud})
    for (const bool shared : {false, true})
      for (const bool counted : {false, true}) {
        watchful_host host;
        session s(host);
        ASSERT_TRUE(s.open(false).ok());
        ASSERT_TRUE(s.bring_up().ok());
        const traffic_result r = run_traffic(
            s, {.messages = 3, .service = service, .shared_receives = shared, .counted = counted});
        EXPECT_TRUE(r.ok()) << static_cast<unsigned>(service) << shared << counted << ": "
                            << r.wrong;
        EXPECT_EQ(r.tallies.size(), service == qp_service::rc   ? 30u
                                    : service == qp_service::uc ? 20u
                                                                : 7u);
        EXPECT_TRUE(s.objects().holdings().none());
        EXPECT_TRUE(s.tear_down().ok());
        EXPECT_EQ(host.machine.adapter().complaints(), 0u);
      }
}

}  // namespace
}  // namespace freehca::verified_traffic
