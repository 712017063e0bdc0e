// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two adapters in one program: what names an object of one finds nothing in the other.
#include "easy_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

TEST(two_adapters, a_handle_of_one_is_stale_for_the_other) {
  testing::verbs_rig one, other;
  testing::rc_pair here(one), there(other);
  const auto same_place = [](auto a, auto b) { return a.index == b.index; };
  ASSERT_TRUE(same_place(here.queue[0], there.queue[0])) << "else this tests nothing";
  EXPECT_NE(one.objects.find(here.queue[0]), nullptr);
  EXPECT_EQ(other.objects.find(here.queue[0]), nullptr);
  EXPECT_EQ(one.objects.find(there.queue[0]), nullptr);
  EXPECT_EQ(other.objects.find(here.completion[0]), nullptr);
  EXPECT_EQ(other.objects.find(here.domain), nullptr);
  EXPECT_TRUE(other.objects.destroy(here.domain).is(driver_error::stale_handle));
  create_queue_pair create;
  create.start(other.objects, {.pd = there.domain,
                               .send_cq = here.completion[0],
                               .receive_cq = there.completion[0],
                               .sends = 1,
                               .receives = 1});
  EXPECT_TRUE(other.await(create).is(driver_error::stale_handle));
  destroy_completion_queue destroy;
  destroy.start(other.objects, here.completion[1]);
  EXPECT_TRUE(other.await(destroy).is(driver_error::stale_handle));
}

TEST(two_adapters, what_a_program_holds_of_one_is_stale_for_the_other) {
  testing::easy_rig one, other;
  one.bring_up();
  other.bring_up();
  const easy::memory memory = one.get(one.hca.allocate(4096));
  const easy::connection c = one.get(one.hca.open_rc());
  const easy::connection d = one.get(one.hca.open_ud());
  static_cast<void>(other.get(other.hca.allocate(4096)));
  static_cast<void>(other.get(other.hca.open_rc()));
  static_cast<void>(other.get(other.hca.open_ud()));
  const auto before = other.counts();
  const auto stale = [&](auto&& op) {
    const status s = other.await(op);
    EXPECT_TRUE(s.is(driver_error::stale_handle)) << testing::words(s);
  };
  stale(other.hca.release(memory));
  stale(other.hca.close(c));
  stale(other.hca.connect(c, c.self));
  stale(other.hca.next(c));
  EXPECT_TRUE(other.hca.address_of(d, d.self).error().is(driver_error::stale_handle));
  EXPECT_EQ(other.counts(), before);
  one.must(one.hca.connect(c, c.self));
  one.must(one.hca.release(memory));
}

}  // namespace
}  // namespace freehca
