// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <string>

#include "test_driver.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

struct dumps : ::testing::Test {
  test_host host;
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
  std::string text;
  void SetUp() override { host.attach(hca); }
};

TEST_F(dumps, say_the_fields_of_a_context_as_its_table_names_them) {
  ASSERT_TRUE(driver.bring_up());
  test_driver::queue eq;
  ASSERT_EQ(driver.make_eq(eq, 40, 3).status, command_status::ok);
  ASSERT_TRUE(hca.dump("eq:40", text)) << text;
  EXPECT_NE(text.find("intr: 0x3\n"), std::string::npos) << text;
  std::string again;
  ASSERT_TRUE(hca.dump("eq:0x28", again)) << again;
  EXPECT_EQ(text, again);
}

TEST_F(dumps, say_why_there_is_nothing) {
  EXPECT_FALSE(hca.dump("eq:5", text));
  EXPECT_NE(text.find("before INIT_HCA"), std::string::npos) << text;
  ASSERT_TRUE(driver.bring_up());
  for (const char* wrong : {"eq", "eq:", "eq:x", "eq:5x", "eq:0x", "", ":"}) {
    EXPECT_FALSE(hca.dump(wrong, text));
    EXPECT_NE(text.find("KIND:NUMBER"), std::string::npos) << text;
  }
  EXPECT_FALSE(hca.dump("wheel:5", text));
  EXPECT_NE(text.find("the kinds are"), std::string::npos) << text;
  EXPECT_FALSE(hca.dump("qp:0xffffffff", text));
  EXPECT_NE(text.find("the table has 2^"), std::string::npos) << text;
  hca.fail();
  EXPECT_FALSE(hca.dump("eq:5", text));
  EXPECT_NE(text.find("has failed"), std::string::npos) << text;
}

}  // namespace
}  // namespace freehca::model::test
