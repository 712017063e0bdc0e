// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/status.hpp>

#include <string>

#include <gtest/gtest.h>

#include <freehca/hal/text.hpp>
#include <freehca/layouts/opcode.hpp>

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

std::string described(status s, std::size_t bytes = 200) {
  std::string text(bytes, 'x');
  const std::size_t length = describe(s, text.data(), bytes);
  EXPECT_EQ(text[length], '\0');
  text.resize(length);
  return text;
}

TEST(describe, names_judge_code_and_place) {
  EXPECT_EQ(described({}), "ok");
  EXPECT_EQ(
      described({command_status::bad_index, static_cast<unsigned>(layouts::opcode::sw2hw_cq)}),
      "firmware: bad index (0x0a) at SW2HW_CQ");
  EXPECT_EQ(described({driver_error::no_memory, 0x1f}), "driver: out of memory at 0x1f");
  EXPECT_EQ(described(transport_error::gone), "transport: the device is gone");
  EXPECT_EQ(described(static_cast<command_status>(0x77)), "firmware: unknown status (0x77)");
}

TEST(describe, cuts_off_and_survives_no_room) {
  EXPECT_EQ(described(transport_error::gone, 8), "transpo");
  EXPECT_EQ(described(transport_error::gone, 1), "");
  EXPECT_EQ(describe(transport_error::gone, nullptr, 0), 0u);
}

TEST(text_writer, numbers) {
  char line[64];
  text_writer to(line);
  to.decimal(0)
      .put(' ')
      .decimal(~std::uint64_t{0})
      .put(' ')
      .hex(0)
      .put(' ')
      .hex(0xabc, 4)
      .put(' ')
      .hex(~std::uint64_t{0});
  EXPECT_STREQ(line, "0 18446744073709551615 0x0 0x0abc 0xffffffffffffffff");
  EXPECT_FALSE(to.full());
}

TEST(text_writer, a_line_reaches_the_platform_with_its_severity) {
  struct sink {
    severity level{};
    std::string text;
  } seen;
  platform_operations operations;
  operations.log = [](void* s, severity level, const char* text) {
    *static_cast<sink*>(s) = {level, text};
  };
  char line[8];
  text_writer to(line);
  to << "too long for it";
  log_line({&operations, &seen}, severity::warning, to);
  EXPECT_EQ(seen.level, severity::warning);
  EXPECT_EQ(seen.text, "too lon");
  operations.log = nullptr;
  log_line({&operations, &seen}, severity::error, to);
  log_line({}, severity::error, to);
}

}  // namespace
}  // namespace freehca
