// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lines as they are written; the test has the serial line.
#include <freehca/bare/console.hpp>

#include <string>

#include <gtest/gtest.h>

#include <freehca/bare/machine.hpp>

namespace freehca::bare {

namespace {
std::string written;
}

void machine::put(char c) noexcept {
  written += c;
}

namespace {

template <class Write>
std::string line_of(Write write) {
  written.clear();
  {
    line to;
    write(to);
  }
  return written;
}

TEST(console, ends_a_line_with_both_characters) {
  EXPECT_EQ(line_of([](line& to) { to << "port " << 1; }), "port 1\r\n");
}
TEST(console, pads_the_last_part_of_a_version) {
  EXPECT_EQ(line_of([](line& to) { to.four_digits(0).four_digits(7).four_digits(66); }),
            "000000070066\r\n");
  EXPECT_EQ(line_of([](line& to) { to.four_digits(700).four_digits(1000).four_digits(65535); }),
            "0700100065535\r\n");
}
TEST(console, writes_times_to_the_microsecond) {
  EXPECT_EQ(line_of([](line& to) { to.seconds(12'000'034'999); }), "12.000034 s\r\n");
}

}  // namespace
}  // namespace freehca::bare
