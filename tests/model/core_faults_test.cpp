// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Faults on request: firmware that refuses or says nothing, and an adapter that fails altogether.
#include <vector>

#include <gtest/gtest.h>

#include "faults/fault_text.hpp"
#include "works_after_reset.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::opcode;
using fate = command_verdict::fate;

struct core_faults : ::testing::Test {
  test_host host;
  device hca{host, test_options()};
  test_driver driver{host, hca};

  void ask_for(const char* text) {
    command_judge judge;
    const char* why = parse_command_fault(text, judge);
    ASSERT_EQ(why, nullptr) << text << ": " << why;
    hca.judge_commands(std::move(judge));
  }
  command_status query_fw() {
    return driver.command(opcode::query_fw, 0, 0, 0, driver.output).status;
  }
  bool answers() {
    driver.post(opcode::query_fw, 0, 0, 0, driver.output, layouts::polled_token, false);
    host.advance(1'000'000'000);
    return !driver.go();
  }
};

/// What the words make of the events of these types, in this order.
std::vector<event_fate> fates(const char* text, std::vector<layouts::event_type> of) {
  event_judge judge;
  EXPECT_EQ(parse_event_fault(text, judge), nullptr) << text;
  std::vector<event_fate> all;
  for (const auto type : of) all.push_back(judge ? judge(type) : event_fate::deliver);
  return all;
}

/// What the words make of a command; fate::run with an empty judge.
command_verdict judged(const char* text, opcode o) {
  command_judge judge;
  EXPECT_EQ(parse_command_fault(text, judge), nullptr) << text;
  return judge ? judge(o, 0) : command_verdict{};
}

TEST(core_fault_words, name_a_command_and_its_fate) {
  EXPECT_EQ(judged("MAP_FA:1", opcode::map_fa).what, fate::refuse);
  EXPECT_EQ(judged("MAP_FA:0x40", opcode::map_fa).status, command_status::bad_size);
  EXPECT_EQ(judged("MAP_FA:1", opcode::run_fw).what, fate::run);
  EXPECT_EQ(judged("0xfff:lost", opcode::map_fa).what, fate::lose_answer);
  EXPECT_EQ(judged("any:silent", opcode::run_fw).what, fate::hold);
  EXPECT_EQ(judged("any:twice", opcode::run_fw).what, fate::answer_twice);
  EXPECT_EQ(judged("any:stuck", opcode::run_fw).what, fate::keep_go);
  EXPECT_EQ(judged("any:silent:2", opcode::run_fw).what, fate::run);
  EXPECT_EQ(judged("", opcode::map_fa).what, fate::run);
}

TEST(core_fault_words, that_make_no_sense_are_refused_and_change_nothing) {
  for (const char* text :
       {"MAP_FA", "map_fa:1", ":1", "any:", "any:0", "any:256", "any:never", "any:1:0", "any:1:x",
        "any:1:2:3", "0x1000:1", "0:1", "any:-1", "any:0x"}) {
    command_judge judge = [](opcode, std::uint32_t) {
      return command_verdict{fate::lose_answer, {}};
    };
    EXPECT_NE(parse_command_fault(text, judge), nullptr) << text;
    ASSERT_TRUE(judge) << text;
    EXPECT_EQ(judge(opcode::map_fa, 0).what, fate::lose_answer) << text;
  }
}

TEST(core_fault_words, name_an_event_and_its_fate) {
  using enum event_fate;
  constexpr auto data = layouts::event_type::completion, port = layouts::event_type::port_change,
                 command = layouts::event_type::command_completion;
  using list = std::vector<event_fate>;
  EXPECT_EQ(fates("completion:lost", {data, command, data}), (list{lose, deliver, lose}));
  EXPECT_EQ(fates("command:twice", {data, command}), (list{deliver, twice}));
  EXPECT_EQ(fates("9:lost", {port, command}), (list{lose, deliver}));
  EXPECT_EQ(fates("any:twice:2", {data, port, command}), (list{deliver, twice, deliver}));
  EXPECT_EQ(fates("completion:lost:2", {data, port, data, data}),
            (list{deliver, deliver, lose, deliver}));
  EXPECT_EQ(fates("", {data}), list{deliver});
}

TEST(core_fault_words, that_make_no_sense_of_events_are_refused) {
  for (const char* text : {"completion", "Completion:lost", "any:", "any:silent", "any:1",
                           "0x40:lost", "-1:lost", "any:lost:0", "any:lost:1:1", ":lost"}) {
    event_judge judge = [](layouts::event_type) { return event_fate::twice; };
    EXPECT_NE(parse_event_fault(text, judge), nullptr) << text;
    ASSERT_TRUE(judge) << text;
    EXPECT_EQ(judge(layouts::event_type::completion), event_fate::twice) << text;
  }
}

TEST_F(core_faults, a_refused_command_has_its_status_and_is_not_run) {
  ask_for("MAP_FA:0x01");
  EXPECT_FALSE(driver.start_firmware());
  EXPECT_EQ(driver.map(opcode::map_fa, 0, host.allocate(), 0), command_status::internal_error);
  EXPECT_EQ(driver.counter_named("firmware_pages"), 0u);
  EXPECT_EQ(query_fw(), command_status::ok);
  ask_for("");
  EXPECT_TRUE(driver.bring_up());
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_F(core_faults, only_the_nth_is_meant_counted_from_the_request_on) {
  EXPECT_EQ(query_fw(), command_status::ok);
  ask_for("QUERY_FW:0x0b:2");
  EXPECT_EQ(query_fw(), command_status::ok);
  EXPECT_EQ(query_fw(), command_status::bad_nvmem);
  EXPECT_EQ(query_fw(), command_status::ok);
}

TEST_F(core_faults, silent_firmware_keeps_go_until_a_reset) {
  ask_for("any:silent:1");
  EXPECT_FALSE(answers());
  EXPECT_EQ(driver.counter_named("commands"), 0u);
  ask_for("");
  EXPECT_TRUE(driver.go());
  expect_works_after_reset(host, hca);
}

TEST(core_fault_times, may_be_as_long_as_they_can_be_written) {
  constexpr std::uint64_t longest = ~std::uint64_t{0}, moment = 1000;
  struct {
    std::uint64_t acceptance, latency;
    bool side_by_side;
  } const all[] = {{longest, 0, true},  {longest - moment, 0, true},  {0, longest, true},
                   {0, longest, false}, {0, longest - moment, false}, {0, longest - 1, false}};
  for (const auto& times : all) {
    test_host host;
    host.advance(moment);
    options how = test_options();
    how.faults.command_acceptance_ns = times.acceptance;
    how.faults.command_latency_ns = times.latency;
    how.faults.commands_side_by_side = times.side_by_side;
    device hca{host, how};
    test_driver driver{host, hca};
    driver.post(opcode::query_fw, 0, 0, 0, driver.output, layouts::polled_token, false);
    host.advance(1'000'000'000);
    EXPECT_TRUE(driver.go()) << times.acceptance << " " << times.latency;
    EXPECT_EQ(driver.counter_named("commands"), 0u);
  }
}

TEST_F(core_faults, a_lost_answer_is_of_a_command_that_was_run) {
  ask_for("QUERY_FW:lost");
  EXPECT_FALSE(answers());
  EXPECT_EQ(driver.counter_named("command_QUERY_FW"), 1u);
  EXPECT_NE(layouts::load_be<std::uint32_t>(host.at(driver.output)), 0u);
  ask_for("");
  expect_works_after_reset(host, hca);
}

TEST_F(core_faults, a_stuck_register_takes_nothing_until_a_reset) {
  ASSERT_TRUE(driver.bring_up());
  const std::uint64_t before = driver.counter_named("commands");
  ask_for("NOP:stuck:1");
  driver.post(opcode::nop, 0, 0, 0, 0, 7, true);
  host.advance(1'000'000'000);
  EXPECT_TRUE(driver.go()) << "also with the E bit";
  EXPECT_EQ(driver.counter_named("commands"), before);
  ask_for("");
  expect_works_after_reset(host, hca);
}

struct core_event_faults : core_faults {
  test_driver::queue eq;
  void SetUp() override {
    ASSERT_TRUE(driver.bring_up());
    ASSERT_EQ(driver.make_eq(eq, 40, 2).status, command_status::ok);
    ASSERT_EQ(driver.command(opcode::map_eq, ~std::uint64_t{0}, 40).status, command_status::ok);
    host.messages.clear();
  }
  /// Tokens of the command completions in the queue.
  std::vector<std::uint64_t> tokens() {
    std::vector<std::uint64_t> all;
    layouts::image<layouts::eqe> e;
    while (driver.next_event(eq, e))
      all.push_back(layouts::image<layouts::eqe_command>::from_bytes(e.data())
                        .get<&layouts::eqe_command::token>());
    return all;
  }
  void nop(std::uint16_t token) {
    driver.post(opcode::nop, 0, 0, 0, 0, token, true);
    host.advance(1'000'000);
  }
};

TEST_F(core_event_faults, a_lost_event_leaves_no_entry_and_no_interrupt) {
  hca.judge_events([turn = 0](layouts::event_type) mutable {
    return ++turn == 1 ? event_fate::lose : event_fate::deliver;
  });
  nop(5);
  EXPECT_TRUE(host.messages.empty());
  EXPECT_EQ(driver.counter_named("command_NOP"), 1u) << "it was run";
  nop(6);
  EXPECT_EQ(tokens(), std::vector<std::uint64_t>{6});
  EXPECT_EQ(host.messages, std::vector<unsigned>{2});
}

TEST_F(core_event_faults, a_doubled_event_has_two_entries) {
  hca.judge_events([](layouts::event_type) { return event_fate::twice; });
  nop(5);
  hca.judge_events({});
  nop(6);
  EXPECT_EQ(tokens(), (std::vector<std::uint64_t>{5, 5, 6}));
  EXPECT_EQ(hca.complaints(), 0u);
}

struct core_catastrophe : core_faults {
  static constexpr std::uint32_t buffer = 0x1f020;  ///< as QUERY_FW tells
  test_driver::queue eq;
  void SetUp() override {
    ASSERT_TRUE(driver.bring_up());
    ASSERT_EQ(driver.make_eq(eq, 40, 2).status, command_status::ok);
    ASSERT_EQ(driver.command(opcode::map_eq, ~std::uint64_t{0}, 40).status, command_status::ok);
  }
};

TEST_F(core_catastrophe, is_told_by_the_buffer_and_by_an_event) {
  for (std::uint32_t word = 0; word < 16; ++word) EXPECT_EQ(driver.read(buffer + 4 * word), 0u);
  EXPECT_FALSE(hca.failed());
  hca.fail();
  EXPECT_TRUE(hca.failed());
  EXPECT_EQ(driver.read(buffer), 0x0fffffffu);
  for (std::uint32_t word = 1; word < 16; ++word) EXPECT_EQ(driver.read(buffer + 4 * word), 0u);
  layouts::image<layouts::eqe> e;
  ASSERT_TRUE(driver.next_event(eq, e));
  EXPECT_EQ(e.get<&layouts::eqe::event_type>(), layouts::event_type::local_catastrophic_error);
  EXPECT_EQ(host.messages, std::vector<unsigned>{2});
  hca.fail();
  EXPECT_FALSE(driver.next_event(eq, e)) << "a second error within the first";
}

TEST_F(core_catastrophe, ends_the_command_interface_and_all_work) {
  fault_options slow;
  slow.command_latency_ns = 1'000'000;
  hca.set_faults(slow);
  driver.post(opcode::nop, 0, 0, 0, 0, 7, true);
  hca.fail();
  host.messages.clear();
  layouts::image<layouts::eqe> e;
  while (driver.next_event(eq, e)) {
  }
  const std::uint64_t read = host.reads;
  host.advance(1'000'000'000);
  EXPECT_FALSE(driver.next_event(eq, e)) << "the command in flight was answered";
  EXPECT_FALSE(answers());
  driver.ring_eq(eq, true);
  EXPECT_EQ(host.reads, read) << "a dead adapter read the host's memory";
  EXPECT_TRUE(host.messages.empty());
  EXPECT_TRUE(host.idle());
}

TEST_F(core_catastrophe, ends_with_a_reset) {
  hca.fail();
  EXPECT_FALSE(answers());
  expect_works_after_reset(host, hca);
  EXPECT_FALSE(hca.failed());
  EXPECT_EQ(driver.read(buffer), 0u);
}

}  // namespace
}  // namespace freehca::model::test
