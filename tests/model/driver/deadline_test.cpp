// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A deadline on the whole of an operation of several steps, at every instant of its life.
#include "counts.hpp"

namespace freehca {
namespace {

using namespace testing;

constexpr std::uint64_t latency = 50'000;

rig_options slow() {
  rig_options how = testing::exact();
  how.machine.model.faults.command_latency_ns = latency;
  return how;
}

class object_deadlines : public ::testing::Test {
 protected:
  object_deadlines() {
    domain = rig.objects.create<protection_domain>().value();
    create_completion_queue cq;
    cq.start(rig.objects, {.entries = 100});
    EXPECT_TRUE(rig.await(cq).ok());
    completion = cq.made();
    // So that the queue pair needs pages of its own in every table.
    number_spaces& n = rig.adapter.numbers();
    translations = n.mtts.allocate(taken).value();
    queues = n.qps.allocate(taken).value();
    before = counts(rig);
  }
  ~object_deadlines() override {
    rig.adapter.numbers().mtts.free(translations, taken);
    rig.adapter.numbers().qps.free(queues, taken);
    destroy_completion_queue gone;
    gone.start(rig.objects, completion);
    EXPECT_TRUE(rig.await(gone).ok());
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }
  void start(create_queue_pair& create) {
    create.start(rig.objects, {.pd = domain,
                               .send_cq = completion,
                               .receive_cq = completion,
                               .sends = 64,
                               .receives = 64});
  }
  void start(create_completion_queue& create) { create.start(rig.objects, {.entries = 4000}); }
  template <class Destroy, class Create>
  status destroy(const Create& made) {
    Destroy gone;
    gone.start(rig.objects, made.made());
    return rig.await(gone);
  }
  struct tally {
    unsigned in_time = 0, too_late = 0, in_doubt = 0;
  };
  /// Deadlines from the start of a creation to behind its end.
  template <class Create, class Destroy>
  tally at_every_instant() {
    tally seen;
    for (std::uint64_t after = 0; seen.in_time < 5; after += latency / 10) {
      const std::uint64_t due = rig.machine.time() + after;
      Create create;
      create.set_deadline(due);
      start(create);
      const status s = rig.await(create);
      if (s.ok()) {
        ++seen.in_time;
        EXPECT_LE(rig.machine.time(), due + latency / 10) << after;
        EXPECT_TRUE(destroy<Destroy>(create).ok()) << after;
      } else {
        ++seen.too_late;
        EXPECT_TRUE(s.is(transport_error::timeout)) << after << ": " << words(s);
        EXPECT_FALSE(create.made()) << after;
        // What is under way is detached; an answered MAP_ICM is taken back by UNMAP_ICM.
        EXPECT_LE(rig.machine.time(), due + 3 * latency) << after;
        if (rig.objects.holdings().in_doubt != 0) ++seen.in_doubt;
      }
      EXPECT_TRUE(as_before()) << after;
      if (HasFailure() || after > 20 * latency) break;
    }
    return seen;
  }
  bool as_before() {
    return rig.run([&] { return counts(rig) == before; }, clock::seconds(1));
  }

  static constexpr std::uint32_t taken = 512;
  verbs_rig rig{slow()};
  pd_handle domain;
  cq_handle completion;
  std::uint32_t translations = 0, queues = 0;
  std::vector<std::uint64_t> before;
};

TEST_F(object_deadlines, creation_past_its_deadline_is_undone_to_the_last_page) {
  const tally pairs = at_every_instant<create_queue_pair, destroy_queue_pair>();
  EXPECT_GE(pairs.too_late, 10u);
  EXPECT_GE(pairs.in_time, 5u);
  const tally cqs = at_every_instant<create_completion_queue, destroy_completion_queue>();
  EXPECT_GE(cqs.too_late, 20u);
  EXPECT_GE(cqs.in_doubt, 5u) << "SW2HW_CQ was under way";
  EXPECT_GE(cqs.in_time, 5u);
}

TEST_F(object_deadlines, next_deadline_has_it) {
  rig.machine.adapter().judge_commands([](layouts::opcode, std::uint32_t) {
    return model::command_verdict{.what = model::command_verdict::fate::hold};
  });
  create_queue_pair create;
  const std::uint64_t due = rig.machine.time() + clock::milliseconds(7);
  create.set_deadline(due);
  start(create);
  while (rig.machine.adapter().held_commands() == 0) {
    rig.objects.poll();
    ASSERT_LE(rig.objects.next_deadline(), due);
    rig.machine.step(rig.objects.next_deadline());
  }
  EXPECT_TRUE(rig.await(create).is(transport_error::timeout));
  EXPECT_GE(rig.machine.time(), due);
  EXPECT_LE(rig.machine.time(), due + clock::milliseconds(1));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(as_before());
}

TEST_F(object_deadlines, a_cancel_ahead_of_the_deadline_is_what_the_outcome_says) {
  create_queue_pair create;
  create.set_deadline(rig.machine.time() + latency);
  start(create);
  create.cancel();
  EXPECT_TRUE(rig.await(create).is(driver_error::cancelled));
  EXPECT_TRUE(as_before());
}

TEST_F(object_deadlines, what_is_being_undone_is_undone_to_the_end) {
  unsigned cancelled = 0;
  for (std::uint64_t first = 0; first < 4 * latency; first += latency / 8)
    for (std::uint64_t second = 0; second < 4 * latency; second += latency / 8) {
      create_queue_pair create;
      start(create);
      rig.run([] { return false; }, first);
      create.cancel();
      rig.run([] { return false; }, second);
      create.cancel();
      const status s = rig.await(create);
      if (s.ok()) {
        ASSERT_TRUE(destroy<destroy_queue_pair>(create).ok());
      } else {
        EXPECT_TRUE(s.is(driver_error::cancelled)) << words(s);
        ++cancelled;
      }
      ASSERT_TRUE(as_before()) << first << ", " << second;
    }
  EXPECT_GE(cancelled, 256u);
}

TEST_F(object_deadlines, a_destruction_that_has_not_begun_leaves_the_object) {
  create_completion_queue create;
  start(create);
  ASSERT_TRUE(rig.await(create).ok());
  destroy_completion_queue gone;
  gone.set_deadline(rig.machine.time());
  gone.start(rig.objects, create.made());
  EXPECT_TRUE(rig.await(gone).is(transport_error::timeout));
  EXPECT_NE(rig.objects.find(create.made()), nullptr);
  EXPECT_TRUE(destroy<destroy_completion_queue>(create).ok());
  EXPECT_TRUE(as_before());
}

TEST_F(object_deadlines, a_request_for_context_memory_past_its_deadline_holds_nothing) {
  for (std::uint64_t after = 0; after <= latency; after += latency / 5) {
    context_request r;
    r.set_deadline(rig.machine.time() + after);
    rig.adapter.contexts().map(r, {context_group::qp, 1024, 4});
    EXPECT_TRUE(rig.await(r).is(transport_error::timeout)) << after;
    EXPECT_TRUE(as_before()) << after;
  }
}

}  // namespace
}  // namespace freehca
