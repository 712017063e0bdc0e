// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lines that come by the serial line, and the orders that stand in them.
#include <freehca/bare/typed_line.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "order.hpp"

namespace freehca::bare {
namespace {

/// What each line is worth that has ended: its text, or "!" and what is wrong with it.
std::vector<std::string> lines_of(const std::string& bytes) {
  typed_line line;
  std::vector<std::string> found;
  for (const char c : bytes)
    if (line.take(c))
      found.push_back(line.wrong() == nullptr ? line.text() : "!" + std::string(line.wrong()));
  return found;
}
using texts = std::vector<std::string>;

TEST(typed_line, ends_with_either_character_and_an_empty_one_is_none) {
  EXPECT_EQ(lines_of("rc\r\nud\r\rend\n\n"), (texts{"rc", "ud", "end"}));
  EXPECT_EQ(lines_of("rc"), texts());
}
TEST(typed_line, takes_characters_back) {
  EXPECT_EQ(lines_of("\x08ru\x7f\x08rc\n"), texts{"rc"});
}
TEST(typed_line, may_be_so_long_and_no_longer) {
  const std::string longest(typed_line::most, 'a');
  EXPECT_EQ(lines_of(longest + "\n"), texts{longest});
  EXPECT_EQ(lines_of(longest + "a\nb\n"), (texts{"!the line is too long", "b"}));
  EXPECT_EQ(lines_of(std::string(100'000, 'a') + "\nb\n"), (texts{"!the line is too long", "b"}));
}
TEST(typed_line, tells_of_damage_once) {
  const std::string damaged = "!a character came damaged, or is none of ASCII";
  EXPECT_EQ(lines_of(std::string("r\0c\nud\n", 7)), (texts{damaged, "ud"}));
  EXPECT_EQ(lines_of("\xff\n\t\n\x1b\nud\n"), (texts{damaged, damaged, damaged, "ud"}));
}

TEST(words, are_taken_whole_and_in_order) {
  words from("  client 65535 0");
  std::uint64_t n = 7;
  EXPECT_FALSE(from.take("clien"));
  EXPECT_FALSE(from.take("clients"));
  EXPECT_TRUE(from.take("client"));
  EXPECT_FALSE(from.take_number(1, 65534, &n));
  EXPECT_FALSE(from.take_number(65536, 70000, &n));
  EXPECT_EQ(n, 7u);
  EXPECT_TRUE(from.take_number(65535, 65535, &n));
  EXPECT_EQ(n, 65535u);
  EXPECT_FALSE(from.done());
  EXPECT_TRUE(from.take_number(0, 0, &n));
  EXPECT_TRUE(from.done());
}
TEST(words, know_what_is_no_number) {
  std::uint64_t n = 0;
  for (const char* text : {"", "x", "1x", "-1", "0x1", "99999999999999999999999999"})
    EXPECT_FALSE(words(text).take_number(0, 1'000'000, &n)) << text;
}

pair_order read(const std::string& text) {
  pair_order o;
  EXPECT_EQ(read_order(text.c_str(), 65535, &o), nullptr);
  return o;
}
std::string wrong_with(const std::string& text) {
  pair_order o;
  const char* const wrong = read_order(text.c_str(), 65535, &o);
  return wrong != nullptr ? wrong : "nothing";
}
const std::string no_gid(32, '0');
const std::string address = "00a1:00004b:9F3c00:" + no_gid;

TEST(pair_order, is_read) {
  const pair_order o = read("client 4096 1000 " + address);
  EXPECT_TRUE(o.client);
  EXPECT_EQ(o.size, 4096u);
  EXPECT_EQ(o.count, 1000u);
  EXPECT_EQ(o.to.lid, 0xa1u);
  EXPECT_EQ(o.to.qpn, 0x4bu);
  EXPECT_EQ(o.to.psn, 0x9f'3c00u);
  EXPECT_FALSE(read("server 1 1 " + address).client);
  EXPECT_EQ(read("server 65535 1000000 " + address).size, 65535u);
}
TEST(pair_order, that_is_malformed_says_where) {
  const auto has = [](const std::string& text, const char* words) {
    EXPECT_NE(wrong_with(text).find(words), std::string::npos) << text << ": " << wrong_with(text);
  };
  has("", "server nor client");
  has("serve 1 1 " + address, "server nor client");
  has("client", "size");
  has("client 0 1 " + address, "size");
  has("client 65536 1 " + address, "size");
  has("client 1 0 " + address, "count");
  has("client 1 1000001 " + address, "count");
  has("client 1 1", "no address");
  has("client 1 1 0000:00004b:9f3c00:" + no_gid, "LID");
  has("client 1 1 c000:00004b:9f3c00:" + no_gid, "LID");
  has("client 1 1 1:00004b:9f3c00:" + no_gid, "LID");
  has("client 1 1 00a1:000001:9f3c00:" + no_gid, "QPN");
  has("client 1 1 00a1: 0004b:9f3c00:" + no_gid, "QPN");
  has("client 1 1 00a1:00004b:9f3c0g:" + no_gid, "PSN");
  has("client 1 1 00a1:00004b:9f3c00:" + no_gid.substr(1), "GID at the end");
  has("client 1 1 00a1:00004b:9f3c00:fe80" + no_gid.substr(4), "-g");
  has("client 1 1 " + address + "0", "follows");
  has("client 1 1 " + address + " 1", "follows");
}

}  // namespace
}  // namespace freehca::bare
