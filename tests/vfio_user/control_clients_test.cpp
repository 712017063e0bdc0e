// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Those who ask on the control socket do what they should not: each is told or hung up on, and
// neither the others nor the client of the adapter wait for it.
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <memory>

#include "control_caller.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

using nlohmann::json;

constexpr std::size_t longest_line = 64 * 1024;
constexpr std::size_t most_clients = 16;

struct control_clients : served {
  void SetUp() override { start({"--control", path}); }
  // Somebody new is answered, and so is the client of the adapter.
  void expect_served() {
    control_caller other(path);
    ASSERT_TRUE(other.open());
    EXPECT_TRUE(other.ask("state", json::object()).value("ok", false));
    EXPECT_EQ(0x100715b3u, configuration(0));
  }
  static std::string error_of(const json& answer) {
    return answer.is_object() ? answer.value("error", "") : "no answer";
  }
  static bool names(const json& answer, const std::string& words) {
    return error_of(answer).find(words) != std::string::npos;
  }

  std::string path = files.path("control");
};

TEST_F(control_clients, rubbish_is_answered_and_the_next_line_too) {
  control_caller one(path);
  std::string noise;
  for (unsigned i = 1; i < 256; ++i)
    if (i != '\n') noise += static_cast<char>(i);
  for (const std::string& text :
       {noise, std::string("{"), std::string("nonsense"), std::string("{\"request\":\"\xff\xfe\"}"),
        std::string("\0", 1), std::string(200, '"')}) {
    const json answer = one.ask(text);
    EXPECT_TRUE(names(answer, "this is no JSON")) << answer.dump();
    EXPECT_LT(error_of(answer).size(), 2000u);
  }
  EXPECT_TRUE(one.ask("state", json::object()).value("ok", false));
}

TEST_F(control_clients, an_empty_line_is_passed_over) {
  control_caller one(path);
  ASSERT_TRUE(one.send("\n \r\n\t\n"));
  EXPECT_TRUE(one.ask("state", json::object()).value("ok", false));
}

TEST_F(control_clients, depth_is_no_trouble) {
  control_caller one(path);
  const std::string deep(longest_line / 2 - 100, '['), up(longest_line / 2 - 100, ']');
  EXPECT_TRUE(names(one.ask(deep + up), "an object"));
  EXPECT_TRUE(names(one.ask(R"({"request":"state","id":)" + deep + up + "}"), "'id' is"));
  EXPECT_TRUE(names(one.ask(R"({"request":"dump","object":)" + deep + up + "}"), "is a string"));
  EXPECT_TRUE(names(one.ask(R"({"request":)" + deep + up + "}"), "'request' is missing"));
  expect_served();
}

TEST_F(control_clients, a_line_that_is_too_long_is_told_and_the_next_is_answered) {
  control_caller one(path);
  const std::string beginning = R"({"request":"state","id":")";
  std::string fits = beginning;
  fits.resize(longest_line - 2, 'x');
  EXPECT_TRUE(one.ask(fits + "\"}").value("ok", false));
  EXPECT_TRUE(names(one.ask(fits + "x\"}"), "too long")) << "one byte more";
  ASSERT_TRUE(one.send(std::string(1u << 20, 'x')));
  EXPECT_TRUE(names(json::parse(*one.line()), "too long")) << "before it has ended";
  EXPECT_TRUE(names(one.ask("xx\n{}"), "'request' is missing")) << "and once alone";
  expect_served();
}

TEST_F(control_clients, half_a_line_and_gone) {
  for (const char* text : {"", "{", "{\"request\":\"st", "\n{\"request\""}) {
    control_caller one(path);
    ASSERT_TRUE(one.send(text));
  }
  expect_served();
}

TEST_F(control_clients, a_last_line_without_its_end_is_answered) {
  control_caller one(path), other(path);
  ASSERT_TRUE(one.send("{\"request\":\"state\"}"));
  one.finish();
  EXPECT_TRUE(json::parse(*one.line()).value("ok", false));
  EXPECT_TRUE(one.hung_up());
  ASSERT_TRUE(other.send("{\"request\":\"st"));
  other.finish();
  EXPECT_TRUE(names(json::parse(*other.line()), "this is no JSON"));
  EXPECT_TRUE(other.hung_up());
}

TEST_F(control_clients, many_lines_at_once_are_answered_in_their_order) {
  control_caller one(path);
  std::string all;
  for (unsigned i = 0; i < 500; ++i)
    all += R"({"request":"get","name":"strict","id":)" + std::to_string(i) + "}\n";
  ASSERT_TRUE(one.send(all));
  one.finish();
  for (unsigned i = 0; i < 500; ++i) EXPECT_EQ(i, json::parse(*one.line())["id"]);
  EXPECT_TRUE(one.hung_up());
}

TEST_F(control_clients, bytes_that_come_one_by_one) {
  control_caller one(path);
  for (const char letter : std::string("{\"request\":\"state\"}")) ASSERT_TRUE(one.send({letter}));
  EXPECT_TRUE(one.ask("").value("ok", false));
}

// It sends as long as the server takes it and takes no answer.
TEST_F(control_clients, who_never_reads_is_hung_up_on_and_nobody_waits) {
  control_caller one(path);
  const timeval moment{0, 100'000};
  ASSERT_EQ(0, setsockopt(one.socket(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment));
  const std::string question = "{\"request\":\"counters\"}\n";
  unsigned sent = 0;
  while (sent < 100'000 && one.send(question)) ++sent;
  ASSERT_LT(sent, 100'000u) << "the server reads no further than it answers";
  expect_served();
  // Nothing is left to be sent: only the server can end this.
  while (one.send(question) || errno == EAGAIN) expect_served();
  EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << errno;
}

TEST_F(control_clients, as_many_as_there_are_places_and_one_more) {
  std::list<control_caller> all;
  for (std::size_t i = 0; i < most_clients; ++i) {
    all.emplace_back(path);
    EXPECT_TRUE(all.back().ask("state", json::object()).value("ok", false));
  }
  control_caller more(path);
  ASSERT_TRUE(more.open());
  EXPECT_TRUE(names(json::parse(*more.line()), "come again"));
  EXPECT_TRUE(more.hung_up());
  for (control_caller& one : all) EXPECT_TRUE(one.ask("state", json::object()).value("ok", false));
  all.pop_front();
  bool taken = false;
  for (int i = 0; i < 1000 && !taken; ++i, usleep(1000)) {
    control_caller next(path);
    taken = next.ask("state", json::object()).value("ok", false);
  }
  EXPECT_TRUE(taken);
}

}  // namespace
}  // namespace freehca::vfio_user
