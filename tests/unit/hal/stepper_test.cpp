// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/operation.hpp>
#include <freehca/hal/reactor.hpp>

#include <memory>

#include <gtest/gtest.h>

namespace freehca {
namespace {

/// An owner that ends a part at once when it is cancelled, with a place in its outcome.
struct owner_of_parts {
  reactor loop;
  void start(operation& op) {
    op.begin(
        [](operation& o, void* self) noexcept {
          if (!o.dropped())
            static_cast<owner_of_parts*>(self)->loop.end(o, status(driver_error::cancelled, 7));
        },
        this);
  }
};

/// Runs two parts. If it is to end early or fails, it runs a third part that undoes them.
class two_parts : public stepper {
 public:
  two_parts() = default;
  ~two_parts() { drop(); }
  void start(owner_of_parts& by, unsigned* calls = nullptr) {
    by_ = &by;
    calls_ = calls;
    begin_parts(&advance);
    by.loop.watch(*this);
    by.start(part(first));
  }
  operation first, second, undo;

 private:
  static void advance(stepper& self, status outcome) noexcept {
    auto& s = static_cast<two_parts&>(self);
    if (s.calls_ != nullptr) ++*s.calls_;
    if (s.dropped()) return s.complete(outcome);
    if (s.undoing()) return s.complete(s.why());
    if (outcome.ok() && s.second.done()) return s.complete({});
    if (outcome.ok()) return s.by_->start(s.part(s.second));
    s.begin_undoing(outcome);
    s.by_->start(s.part(s.undo));
  }
  owner_of_parts* by_ = nullptr;
  unsigned* calls_ = nullptr;
};

TEST(stepper, runs_its_parts_one_after_the_other) {
  owner_of_parts o;
  two_parts s;
  s.start(o);
  EXPECT_TRUE(s.first.under_way());
  EXPECT_FALSE(s.second.under_way());
  s.first.complete({});
  EXPECT_TRUE(s.second.under_way());
  s.second.complete({});
  ASSERT_TRUE(s.done());
  EXPECT_TRUE(s.outcome().ok());
}

TEST(stepper, ends_with_the_reason_for_which_a_part_was_cancelled) {
  for (const bool late : {false, true}) {
    owner_of_parts o;
    two_parts s;
    if (late) s.set_deadline(100);
    s.start(o);
    if (late) o.loop.expire(100);
    else s.cancel();
    o.loop.deliver();
    ASSERT_TRUE(s.undo.under_way()) << late;
    s.undo.complete({});
    ASSERT_TRUE(s.done()) << late;
    const status why =
        late ? status(transport_error::timeout, 7) : status(driver_error::cancelled, 7);
    EXPECT_EQ(s.outcome(), why) << late;
  }
}

TEST(stepper, keeps_the_outcome_of_a_part_that_failed_by_itself) {
  owner_of_parts o;
  two_parts s;
  s.start(o);
  s.first.complete(status(driver_error::busy, 3));
  s.undo.complete({});
  ASSERT_TRUE(s.done());
  EXPECT_EQ(s.outcome(), status(driver_error::busy, 3));
}

TEST(stepper, does_not_cancel_what_undoes) {
  owner_of_parts o;
  two_parts s;
  s.start(o);
  s.first.complete(driver_error::busy);
  s.cancel();
  EXPECT_EQ(s.undo.where(), operation::phase::queued);
  s.undo.complete({});
  EXPECT_TRUE(s.outcome().is(driver_error::busy));
}

TEST(stepper, that_is_destroyed_drops_its_part_and_is_called_once) {
  owner_of_parts o;
  unsigned calls = 0;
  {
    const auto s = std::make_unique<two_parts>();
    s->start(o, &calls);
    EXPECT_EQ(calls, 0u);
  }
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(o.loop.deliver(), 0u);
}

TEST(stepper, that_has_ended_is_not_called_when_it_is_destroyed) {
  owner_of_parts o;
  unsigned calls = 0;
  {
    two_parts s;
    s.start(o, &calls);
    s.first.drop();  // its callback is not called
    o.loop.end(s, {});
  }
  EXPECT_EQ(calls, 0u);
}

}  // namespace
}  // namespace freehca
