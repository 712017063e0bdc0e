// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a program is told when it asks for more than its adapter was made for: what ran out, how
// large that is, and what is in use.
#include <gtest/gtest.h>

#include <freehca/blocking/session.hpp>
#include <freehca/texts/names.hpp>

#include <in_process_host.hpp>

namespace freehca::blocking {
namespace {

easy::sizes small() {
  easy::sizes s;
  s.budget.queue_bytes = std::size_t{1} << 20;
  s.objects = s.objects.with<memory_region>(2).with<queue_pair>(1).with<completion_queue>(1);
  s.objects.requests = 256;
  return s;
}

class words_test : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(s.open().ok());
    ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
  }
  void expect(status outcome, std::initializer_list<const char*> all) {
    EXPECT_FALSE(outcome.ok());
    const std::string text = s.words(outcome);
    for (const char* const part : all)
      EXPECT_NE(text.find(part), std::string::npos) << part << ", in: " << text;
  }
  in_process_host host;
  session s{host, small()};
};

TEST_F(words_test, more_memory_than_the_budget_has) {
  for (const std::size_t bytes : {std::size_t{64} << 20, std::size_t{1} << 32, ~std::size_t{0}})
    expect(s.wait(s.adapter().allocate(bytes)).error(),
           {"out of memory", "queue memory", "budget::queue_bytes is 1048576", "in use"});
}

TEST_F(words_test, more_translation_entries_than_the_budget_has) {
  std::byte memory{};
  expect(s.wait(s.adapter().register_memory(&memory, std::size_t{1} << 62)).error(),
         {"out of resources", "memory translation entries",
          "2 to the power of budget::log_mtts is 262144"});
}

TEST_F(words_test, more_memories_than_the_budget_has) {
  for (unsigned i = 0; i < 3; ++i) {
    const auto one = s.wait(s.adapter().allocate(4096));
    if (i < 2) ASSERT_TRUE(one.ok()) << s.words(one.error());
    else expect(one.error(), {"out of resources", "memory region", "verbs_budget has 2"});
  }
}

TEST_F(words_test, more_connections_than_the_budget_has) {
  const easy::connection_options few{.sends = 8, .receives = 8};
  const auto first = s.wait(s.adapter().open_rc(few));
  ASSERT_TRUE(first.ok()) << s.words(first.error());
  expect(s.wait(s.adapter().open_rc(few)).error(),
         {"out of resources", "completion queue", "verbs_budget has 1"});
}

TEST_F(words_test, more_requests_than_the_budget_has) {
  expect(s.wait(s.adapter().open_rc({.sends = 4096, .receives = 4096})).error(),
         {"out of memory", "requests", "verbs_budget::requests is 256"});
}

TEST_F(words_test, an_attribute_that_is_refused_and_its_limit) {
  verbs& objects = s.adapter().objects();
  create_completion_queue queue;
  queue.start(objects, {});
  expect(s.wait(queue), {"bad argument: too few completion queue entries: 0 of 1"});
  EXPECT_EQ(words({.what = attribute_id::gather, .value = 5, .limit = 4}),
            "too many gather entries: 5 of 4");
  EXPECT_EQ(words({.what = attribute_id::pkey_index, .value = 128, .limit = 127}),
            "P_Key index too large: 128 of 127");
  EXPECT_EQ(words({.what = attribute_id::remote_rights, .value = 1, .limit = 1}),
            "remote right without local_write: 1 is not possible");
}

TEST_F(words_test, other_outcomes_are_as_before) {
  for (const status other : {status(driver_error::bad_argument), status(driver_error::stale_handle),
                             status(transport_error::gone), status(driver_error::no_memory, 0x3f),
                             status(driver_error::no_resource)})
    EXPECT_EQ(s.words(other), words(other));
}

TEST(words, a_bring_up_that_fails_names_its_step_and_the_cause) {
  in_process_host host;
  easy::sizes size;
  size.budget.log_mtts = 6;  // the firmware keeps as many for itself
  session s(host, size);
  ASSERT_TRUE(s.open().ok());
  const status outcome = s.wait(s.adapter().bring_up());
  ASSERT_FALSE(outcome.ok());
  const std::string text = s.words(outcome);
  EXPECT_NE(text.find(name_of(s.adapter().hardware().failure().step)), std::string::npos) << text;
  EXPECT_NE(text.find("2 to the power of budget::log_mtts is 64"), std::string::npos) << text;
}

}  // namespace
}  // namespace freehca::blocking
