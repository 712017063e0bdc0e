// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A driver's recording that is cut off, or of another version, or none, is refused by name.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "driver_session.hpp"

namespace freehca {
namespace {

using namespace testing;

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

/// The header, the first records, and a last record that fits them.
std::string small_recording(std::size_t records) {
  const std::string& whole = driver_recording();
  std::size_t end = 0;
  for (std::size_t line = 0; line < records + 1; ++line) end = whole.find('\n', end) + 1;
  return whole.substr(0, end) + "{\"end\":" + std::to_string(records) + "}\n";
}

TEST(driver_bad_input, one_that_is_cut_off_at_any_line_is_told_to_be) {
  const std::string small = small_recording(60);
  EXPECT_EQ(load_text(small).problem, "");
  std::size_t cuts = 0;
  for (std::size_t at = small.find('\n') + 1; at < small.size(); at = small.find('\n', at) + 1) {
    const recording::recording cut = load_text(small.substr(0, at));
    EXPECT_TRUE(cut.usable);
    EXPECT_NE(cut.problem.find("cut off"), std::string::npos) << at;
    const recording::recording within = load_text(small.substr(0, at + 5));
    EXPECT_NE(within.problem.find("cut off in the middle of a record"), std::string::npos) << at;
    EXPECT_EQ(within.records.size(), cut.records.size());
    ++cuts;
  }
  EXPECT_EQ(cuts, 61u);
}

/// Status of the program for a file with the text, and what it prints.
std::pair<int, std::string> replay(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("freehca-driver-recording-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  const std::string command = std::string(FREEHCA_REPLAY) + " " + path.string() + " 2>&1";
  FILE* out = popen(command.c_str(), "r");
  std::string printed;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), out)) != 0;)
    printed.append(part.data(), n);
  const int status = pclose(out);
  std::filesystem::remove(path);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, printed};
}

/// The recording with lines behind its header.
std::string with_line(const std::string& line) {
  const std::string& whole = driver_recording();
  const std::size_t header = whole.find('\n') + 1;
  return whole.substr(0, header) + line + "\n" + whole.substr(header);
}

/// So many lines, each of 16 MiB.
std::string filled(unsigned lines) {
  const std::string line = R"({"store":"0x0","bytes":16777216,"fill":"00000000"})";
  std::string all = line;
  for (unsigned i = 1; i < lines; ++i) all += "\n" + line;
  return all;
}

TEST(driver_bad_input, the_program_refuses_by_name) {
  const std::string& whole = driver_recording();
  struct bad {
    std::string text;
    const char* words;
  };
  const bad all[] = {
      {"", "empty: not a recording"},
      {"GIF89a\n", "not a recording"},
      {replaced(whole, "\"freehca_recording\":1", "\"freehca_recording\":2"), "has version 2"},
      {replaced(whole, "\"by_version\":1", "\"by_version\":7"),
       "has version 7 of what drivers record"},
      {replaced(whole, "\"by\":\"driver\"", "\"by\":\"hand\""), "\"by\" is \"hand\""},
      {replaced(whole, "\"of\":\"card\"", "\"of\":\"model\""), "\"of\" is not \"card\""},
      {replaced(whole, "\"lids\":[2,2]", "\"lids\":[2,65535]"), "65535, which is no LID"},
      {whole.substr(0, whole.size() / 2), "cut off"},
      {replaced(whole, "{\"step\"", "{\"stride\""), "no record of this format"},
      {replaced(whole, "\"without\":[]", "\"without\":" + std::string(400'000, '[')),
       "nested too deep"},
      {replaced(whole, "\"without\":[]", "\"without\":[7]"), "\"without\" has what is no text"},
      {replaced(whole, "\"log_max_commands\":", "\"log_max_commands\":9"), "\"log_max_commands\""},
      {replaced(whole, "\"uar_bar_bytes\":", "\"uar_bar_bytes\":1"), "\"uar_bar_bytes\""},
      {replaced(whole,
                "\"command_latency_ns\":", "\"command_latency_ns\":18446744073709551615,\"x\":"),
       "more than thirty days"},
      {with_line("{\"step\":\"late\",\"t\":18446744073708551615}"), "more than thirty days"},
      {with_line("{\"write\":\"0x0\",\"bytes\":\"0xffffffffffffff\",\"hex\":\"\"}"),
       "more than 16 MiB"},
      {with_line("{\"write\":\"0x0\",\"bytes\":\"0xffffffffffffff\",\"refused\":true}"),
       "more than 16 MiB"},
      {with_line("{\"write\":\"0x0\",\"bytes\":8,\"hex\":\"\"}"), "and there are 0"},
      {with_line(filled(300)), "more than 256 MiB in all"},
  };
  for (const bad& b : all) {
    const auto [status, printed] = replay(b.text);
    EXPECT_EQ(status, 2) << printed;
    EXPECT_NE(printed.find(b.words), std::string::npos) << b.words << " in: " << printed;
  }
}

// Texts of a recording are a stranger's.
TEST(driver_bad_input, control_characters_do_not_reach_the_terminal) {
  const std::string clear = R"(\u001b[2J\u009b2J\r\u007f)";
  std::string text = replaced(driver_recording(), "in process", "label" + clear);
  text = replaced(text, "\"step\":\"bring-up\"", "\"step\":\"bring-up" + clear + "\"");
  text = replaced(text, "\"call\":\"read_bar0\"", "\"call\":\"call" + clear + "\"");
  const auto [status, printed] = replay(text);
  EXPECT_NE(printed.find("label\\x1b[2J\\x9b2J\\x0d\\x7f"), std::string::npos) << status;
  EXPECT_NE(printed.find("call\\x1b[2J"), std::string::npos);
  const auto refused = replay(replaced(text, "\"connectx3-pro\"", "\"" + clear + "\"")).second;
  EXPECT_NE(refused.find("\"variant\" is \"\\x1b"), std::string::npos) << refused;
  for (const std::string& told : {printed, refused})
    for (const char c : told) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f)) << int{c};
}

TEST(driver_bad_input, its_status_says_equal_or_different) {
  const auto [equal, quiet] = replay(driver_recording());
  EXPECT_EQ(equal, 0) << quiet;
  EXPECT_NE(quiet.find("recorded by a driver"), std::string::npos) << quiet;
  EXPECT_NE(quiet.find(", 0 differences"), std::string::npos) << quiet;
  // The status of the first command that ended by an event.
  const std::string& whole = driver_recording();
  const std::size_t event = whole.find("\"what\":\"eqe\"");
  const std::size_t digits = whole.find("\"hex\":\"", event) + 7;
  std::string other = whole;
  other[digits + 2 * 0x0f + 1] = '3';
  const auto [different, told] = replay(other);
  EXPECT_EQ(different, 1) << told;
  EXPECT_NE(told.find("docs/model.md, \"Commands\", row \"NOP\""), std::string::npos) << told;
  EXPECT_NE(told.find(", 1 differences"), std::string::npos) << told;
}

}  // namespace
}  // namespace freehca
