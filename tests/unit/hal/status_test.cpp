// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/status.hpp>

#include <gtest/gtest.h>

#include <freehca/hal/platform.hpp>

namespace freehca {
namespace {

using layouts::command_status;

TEST(status, says_who_judged_the_raw_code_and_where) {
  EXPECT_TRUE(status().ok());
  EXPECT_TRUE(status(command_status::ok).ok());
  const status d(driver_error::busy, 7), t(transport_error::gone),
      f(command_status::bad_index, 0x16);
  EXPECT_EQ(d.who(), origin::driver);
  EXPECT_EQ(d.where(), 7);
  EXPECT_EQ(t.who(), origin::transport);
  EXPECT_EQ(f.who(), origin::firmware);
  EXPECT_EQ(f.code(), 0x0a);
  EXPECT_TRUE(f.is(command_status::bad_index));
  EXPECT_FALSE(f.is(driver_error::busy));
  EXPECT_FALSE(d.is(static_cast<transport_error>(d.code())))
      << "the same number of another judge is another error";
  EXPECT_EQ(f.at(3).where(), 3);
  EXPECT_TRUE(f.at(3).is(command_status::bad_index));
}

TEST(result, a_value_or_an_error) {
  const result<int> good(5), bad(status(driver_error::no_memory, 2));
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 5);
  EXPECT_TRUE(good.error().ok());
  EXPECT_FALSE(bad.ok());
  EXPECT_TRUE(bad.error().is(driver_error::no_memory));
}

status step(status s, int& ran) {
  FREEHCA_TRY(s);
  ++ran;
  return {};
}

TEST(status, try_ends_the_function_early) {
  int ran = 0;
  EXPECT_TRUE(step({}, ran).ok());
  EXPECT_TRUE(step(driver_error::busy, ran).is(driver_error::busy));
  EXPECT_EQ(ran, 1);
}

TEST(platform, passes_a_record_to_its_log_if_it_has_one) {
  log_record seen;
  platform_operations operations;
  operations.log = [](void* to, const log_record& record) {
    *static_cast<log_record*>(to) = record;
  };
  const platform host{&operations, &seen};
  host.log({log_topic::too_hot, severity::warning, "name", {1, 2, 3}});
  EXPECT_EQ(seen.topic, log_topic::too_hot);
  EXPECT_EQ(seen.level, severity::warning);
  EXPECT_STREQ(seen.name, "name");
  EXPECT_EQ(seen.numbers[2], 3u);
  operations.log = nullptr;
  host.log({log_topic::memory_error, severity::error});
  EXPECT_EQ(seen.topic, log_topic::too_hot);
}

}  // namespace
}  // namespace freehca
