// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Recordings that are none, or not whole: the message names what is wrong and where, and what can
// be read is there.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "session.hpp"

namespace freehca {
namespace {

using namespace testing;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

struct expectation {
  std::string text;
  std::vector<std::string> words;
  bool usable;
};

std::vector<expectation> bad_recordings() {
  const std::string& whole = the_session().text;
  const std::size_t middle = whole.find('\n', whole.size() / 2) + 1;
  const std::size_t lines = static_cast<std::size_t>(
      std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(middle), '\n'));
  const std::string here = "line " + std::to_string(lines);
  const std::string next = "line " + std::to_string(lines + 1);
  const std::string kept = "the " + std::to_string(lines - 1) + " records before it are whole";
  return {
      {"", {"empty", "not a recording"}, false},
      {"\x7f"
       "ELF\n",
       {"line 1", "not a recording"},
       false},
      {"\xfd"
       "7zXZ\n",
       {"line 1", "compressed", "xz -dc"},
       false},
      {"{\"a\":1}\n", {"line 1", "no \"freehca_recording\""}, false},
      {replaced(whole, "\"freehca_recording\":1", "\"freehca_recording\":2"),
       {"line 1", "version 2", "version 1"},
       false},
      {replaced(whole, "connectx3-pro", "connectx9"),
       {"line 1", "\"connectx9\"", "connectx3-pro, connectx3, connectx2"},
       false},
      {replaced(whole, "\"ports\":2", "\"ports\":3"), {"line 1", "\"ports\""}, false},
      {replaced(whole, "\"turn_units\":2048", "\"turn_units\":1"),
       {"line 1", "\"turn_units\" is 1", "64 or more"},
       false},
      {replaced(whole, "\"without\":[]", "\"without\":[\"wings\"]"), {"line 1", "wings"}, false},
      {whole.substr(0, middle), {here, "cut off", kept}, true},
      {whole.substr(0, middle + 5), {next, "cut off in the middle of a record", kept}, true},
      {whole.substr(0, middle) + "garbage\n" + whole.substr(middle),
       {next, "no JSON object", kept},
       true},
      {whole.substr(0, middle) + "{\"strange\":1}\n", {next, "no record of this format"}, true},
      {whole.substr(0, middle) + "{\"read\":\"0x1\",\"bytes\":2,\"hex\":\"00\"}\n",
       {next, "\"bytes\" is 2, and there are 1"},
       true},
      {whole.substr(0, middle) + "{\"read\":\"0x1\",\"bytes\":1,\"hex\":\"zz\"}\n",
       {next, "\"hex\" is not hexadecimal"},
       true},
      {whole.substr(0, middle) + whole.substr(whole.find('\n', middle) + 1),
       {"some are missing"},
       true},
      {whole + whole, {"behind the last record"}, true},
  };
}

TEST(recording, what_is_wrong_with_a_file_is_named_with_its_place) {
  for (const expectation& e : bad_recordings()) {
    const recording::recording r = read(e.text);
    EXPECT_EQ(r.usable, e.usable) << r.problem;
    for (const std::string& word : e.words)
      EXPECT_NE(r.problem.find(word), std::string::npos) << word << " in: " << r.problem;
  }
}

/// Status of the program with `arguments`, and all that it prints.
std::pair<int, std::string> run(const std::string& arguments) {
  const std::string command = std::string(FREEHCA_REPLAY) + " " + arguments + " 2>&1";
  FILE* out = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), out)) != 0;)
    text.append(part.data(), n);
  const int status = pclose(out);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

struct file {
  explicit file(const std::string& text)
      : path(std::filesystem::temp_directory_path() /
             ("freehca-recording-" + std::to_string(::getpid()))) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~file() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

TEST(replay_program, its_status_says_equal_different_or_unusable) {
  const std::string& whole = the_session().text;
  {
    const file f(whole);
    const auto [status, text] = run(f.path.string());
    EXPECT_EQ(status, 0) << text;
    EXPECT_NE(text.find("connectx3-pro, our driver, in process"), std::string::npos) << text;
    EXPECT_NE(text.find("(exact), 0 differences"), std::string::npos) << text;
    const auto [other, why] = run("--variant connectx2 " + f.path.string());
    EXPECT_EQ(other, 2);
    EXPECT_NE(why.find("is of a connectx3-pro, not of a connectx2"), std::string::npos) << why;
  }
  {
    const file f(replaced(whole, "\"status\":\"0x0\"", "\"status\":\"0x9\""));
    const auto [status, text] = run(f.path.string());
    EXPECT_EQ(status, 1);
    EXPECT_NE(text.find("with status 0x9"), std::string::npos) << text;
  }
  {
    const file f(whole.substr(0, whole.size() / 2));
    const auto [status, text] = run(f.path.string());
    EXPECT_EQ(status, 2);
    EXPECT_NE(text.find("cut off"), std::string::npos) << text;
    EXPECT_NE(text.find(" 0 differences"), std::string::npos)
        << "what is whole was not replayed: " << text;
  }
  const auto [status, text] = run("/nonexistent/recording");
  EXPECT_EQ(status, 2);
  EXPECT_NE(text.find("/nonexistent/recording: cannot be read"), std::string::npos) << text;
}

}  // namespace
}  // namespace freehca
