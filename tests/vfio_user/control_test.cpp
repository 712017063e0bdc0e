// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The control socket: what it can be asked, and that what it changes is what the client meets.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "command_register.hpp"
#include "control_caller.hpp"
#include "run_program.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

using nlohmann::json;

struct control : served {
  void begin(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--control", path});
    start(arguments);
    caller = std::make_unique<control_caller>(path);
    ASSERT_TRUE(caller->open());
  }
  json ask(const std::string& name, json arguments = json::object()) {
    const json answer = caller->ask(name, std::move(arguments));
    EXPECT_TRUE(answer.is_object()) << name;
    return answer;
  }
  // It must be granted.
  json grant(const std::string& name, json arguments = json::object()) {
    const json answer = ask(name, std::move(arguments));
    EXPECT_TRUE(answer.value("ok", false)) << answer.dump();
    return answer;
  }
  // It must be refused, with these words.
  json refuse(const std::string& name, json arguments, const std::string& words) {
    const json answer = ask(name, std::move(arguments));
    EXPECT_FALSE(answer.value("ok", true)) << answer.dump();
    EXPECT_NE(std::string::npos, answer.value("error", "").find(words)) << answer.dump();
    return answer;
  }
  void set(const std::string& name, const json& value) {
    grant("set", {{"name", name}, {"value", value}});
  }
  std::string get(const std::string& name) { return grant("get", {{"name", name}})["value"]; }
  std::uint64_t counter(const std::string& name) {
    return grant("counters", {{"names", {name}}})["counters"][name];
  }
  json port(unsigned number) { return grant("state")["ports"][number - 1]; }
  testing::answer ask_by_program(const std::string& request) {
    return testing::run_program(std::string(FREEHCA_DEVICE) + " --control " + path + " --ask '" +
                                request + "' 2>&1");
  }

  std::string path = files.path("control");
  std::unique_ptr<control_caller> caller;
};

TEST_F(control, help_lists_every_request_and_each_says_what_it_takes) {
  begin();
  std::set<std::string> names;
  const json help = grant("help");
  for (const json& one : help["requests"]) {
    names.insert(one["request"].get<std::string>());
    EXPECT_FALSE(one["what"].get<std::string>().empty());
    // With an argument that it does not have, each names those that it has.
    const json answer = refuse(one["request"], {{"colour", 1}}, "no argument 'colour'");
    const json wanted = one.value("arguments", json::object());
    std::set<std::string> arguments;
    for (const json& all : {wanted, one.value("optional", json::object())})
      for (const auto& [name, what] : all.items()) arguments.insert(name);
    EXPECT_EQ(arguments, answer["known"].get<std::set<std::string>>()) << one.dump();
    if (!wanted.empty()) refuse(one["request"], json::object(), "is missing");
  }
  EXPECT_EQ((std::set<std::string>{"help", "state", "counters", "explain", "dump", "receives",
                                   "settings", "get", "set", "upgrade"}),
            names);
}

TEST_F(control, what_is_no_request_is_answered_by_what_there_is) {
  begin();
  json answer = refuse("make-coffee", json::object(), "no request 'make-coffee'");
  EXPECT_EQ(10u, answer["known"].size());
  answer = caller->ask("{}");
  EXPECT_NE(std::string::npos, answer["error"].get<std::string>().find("'request' is missing"));
  answer = caller->ask("{\"request\": 7}");
  EXPECT_EQ(10u, answer["known"].size());
  answer = caller->ask("[1,2]");
  EXPECT_NE(std::string::npos, answer["error"].get<std::string>().find("an object"));
  refuse("counters", {{"names", "commands"}}, "'names' is a list of strings");
  refuse("dump", {{"object", 4}}, "'object' is a string");
  refuse("explain", {{"after", -1}}, "'after' is a number from 0 on");
}

TEST_F(control, an_answer_bears_the_mark_of_its_request) {
  begin();
  EXPECT_EQ("a", ask("state", {{"id", "a"}})["id"]);
  EXPECT_EQ(7, ask("nothing", {{"id", 7}})["id"]);
  EXPECT_FALSE(ask("state").contains("id"));
  refuse("state", {{"id", json::array({1})}}, "'id' is");
}

TEST_F(control, counters_all_and_some) {
  begin();
  const json all = grant("counters")["counters"];
  EXPECT_GT(all.size(), 100u);
  EXPECT_EQ(0u, all["commands"]);
  enable();
  shared_memory host(0x1000);
  ASSERT_EQ(0, c.map(0, host.bytes(), host.file()));
  run_command(*this, layouts::opcode::query_fw, 0, true);
  EXPECT_EQ(1u, counter("commands"));
  const json answer =
      refuse("counters", {{"names", {"commands", "wheels"}}}, "no counter 'wheels'");
  EXPECT_EQ(all.size(), answer["known"].size());
}

TEST_F(control, faults_are_met_and_end) {
  begin();
  enable();
  shared_memory host(0x1000);
  ASSERT_EQ(0, c.map(0, host.bytes(), host.file()));
  EXPECT_EQ("", get("x-fault-command"));
  set("x-fault-command", "QUERY_FW:0x01");
  EXPECT_EQ("QUERY_FW:0x01", get("x-fault-command"));
  EXPECT_EQ(layouts::command_status::internal_error,
            run_command(*this, layouts::opcode::query_fw, 0, true));
  refuse("set", {{"name", "x-fault-command"}, {"value", "any:never"}}, "COMMAND:FATE");
  EXPECT_EQ("QUERY_FW:0x01", get("x-fault-command")) << "what is refused changes nothing";
  set("x-fault-command", "");
  EXPECT_EQ(layouts::command_status::ok, run_command(*this, layouts::opcode::query_fw, 0, false));
  set("x-fault-event", "completion:lost:2");
  EXPECT_EQ("completion:lost:2", get("x-fault-event"));
  refuse("set", {{"name", "x-fault-event"}, {"value", "any:never"}}, "EVENT:FATE");
  refuse("set", {{"name", "x-fault-link1"}, {"value", "loss:1"}}, "must have a cable");
  refuse("set", {{"name", "x-fault-held-commands"}, {"value", 1}}, "0: the commands");
  refuse("set", {{"name", "x-fault-command-latency"}, {"value", "soon"}}, "a number up to");
  set("x-fault-command-latency", 1000);
  EXPECT_EQ("1000", get("x-fault-command-latency"));
  set("x-fault-commands-side-by-side", false);
  EXPECT_EQ("off", get("x-fault-commands-side-by-side"));
}

TEST_F(control, a_fault_of_the_link_where_there_is_one) {
  begin({"--port1", "stream:listen=" + files.path("wire")});
  set("x-fault-link1", "loss:1000:seed:7");
  EXPECT_EQ("loss:1000:seed:7", get("x-fault-link1"));
  set("x-fault-link1", "");
  EXPECT_EQ("listening", port(1)["cable"]["state"]);
  EXPECT_EQ("stream:listen=" + files.path("wire"), port(1)["cable"]["to"]);
  set("cable1", "off");
  EXPECT_FALSE(port(1)["cable"]["plugged"].get<bool>());
}

TEST_F(control, a_command_that_is_kept_silent_is_answered_when_it_is_told_to) {
  begin();
  enable();
  shared_memory host(0x1000);
  ASSERT_EQ(0, c.map(0, host.bytes(), host.file()));
  set("x-fault-command", "any:silent");
  post_command(*this, layouts::opcode::query_fw, 0, true);
  for (int i = 0; i < 5000 && get("x-fault-held-commands") != "1"; ++i) usleep(1000);
  EXPECT_EQ("1", get("x-fault-held-commands"));
  EXPECT_EQ(1, grant("state")["adapter"]["held_commands"]);
  EXPECT_TRUE(command_word(*this).get<&layouts::hcr::go>());
  set("x-fault-held-commands", 0);
  for (int i = 0; i < 5000 && command_word(*this).get<&layouts::hcr::go>(); ++i) usleep(1000);
  EXPECT_FALSE(command_word(*this).get<&layouts::hcr::go>());
}

TEST_F(control, an_adapter_that_is_pulled_out_is_nobody_until_it_is_plugged_in) {
  begin();
  enable();
  set("x-fault-removed", true);
  EXPECT_EQ(0xffffffffu, configuration(0));
  EXPECT_EQ(0xffffffffu, read_register(layouts::bar0::hardware_id));
  EXPECT_TRUE(grant("state")["adapter"]["removed"].get<bool>());
  set("x-fault-removed", "off");
  EXPECT_EQ(0x100715b3u, configuration(0));
  EXPECT_EQ(0u, configuration(4, 2)) << "as after power-on";
}

TEST_F(control, an_internal_error_ends_by_a_reset) {
  begin();
  refuse("set", {{"name", "x-fault-catastrophic"}, {"value", "off"}}, "only be switched on");
  set("x-fault-catastrophic", "on");
  EXPECT_EQ("on", get("x-fault-catastrophic"));
  EXPECT_FALSE(port(1).contains("link")) << "it does not tell of its ports";
  refuse("dump", {{"object", "qp:0x40"}}, "failed");
  ASSERT_EQ(0, c.reset());
  EXPECT_EQ("off", get("x-fault-catastrophic"));
}

TEST_F(control, strictness_and_rules) {
  begin();
  EXPECT_EQ("off", get("strict"));
  set("strict", true);
  EXPECT_EQ("on", get("strict"));
  const json answer = refuse("set", {{"name", "x-rules-off"}, {"value", "manners"}},
                             "'manners' is no list of rules");
  EXPECT_NE(std::string::npos, answer["error"].get<std::string>().find("mailbox-alignment"));
  set("x-rules-off", "mailbox-alignment");
  EXPECT_EQ("mailbox-alignment", get("x-rules-off"));
}

TEST_F(control, a_setting_of_the_beginning_cannot_be_changed) {
  begin();
  const json answer =
      refuse("set", {{"name", "variant"}, {"value", "connectx2"}}, "no setting 'variant'");
  EXPECT_EQ(grant("settings")["settings"].size(), answer["known"].size());
  refuse("set", {{"name", "link1"}, {"value", "eth"}}, "no setting 'link1'");
  refuse("get", {{"name", "guid"}}, "no setting 'guid'");
  refuse("set", {{"name", "strict"}, {"value", std::string("on\0", 3)}}, "a byte of zero");
}

TEST_F(control, what_is_read_can_be_written) {
  begin();
  const json all = grant("settings");
  EXPECT_GT(all["settings"].size(), 15u);
  for (const auto& [name, about] : all["settings"].items()) {
    EXPECT_FALSE(about["what"].get<std::string>().empty()) << name;
    if (name == "x-fault-catastrophic") continue;
    set(name, about["value"]);
    EXPECT_EQ(about["value"], get(name)) << name;
  }
}

TEST_F(control, refusals_and_complaints_are_explained) {
  begin();
  enable();
  shared_memory host(0x2000);
  ASSERT_EQ(0, c.map(0, host.bytes(), host.file()));
  EXPECT_TRUE(grant("explain")["explanations"].empty());
  run_command(*this, layouts::opcode::query_fw, 8, true);  // the mailbox begins on no page
  json lines = grant("explain")["explanations"];
  ASSERT_EQ(1u, lines.size());
  EXPECT_EQ("complaint", lines[0]["kind"]);
  EXPECT_EQ("mailbox-alignment", lines[0]["rule"]);
  EXPECT_NE(std::string::npos, lines[0]["text"].get<std::string>().find("QUERY_FW"));
  lines = grant("explain", {{"after", lines[0]["number"]}})["explanations"];
  EXPECT_TRUE(lines.empty());
  refuse("dump", {{"object", "qp:0x41"}}, "before INIT_HCA");
  refuse("dump", {{"object", "wheel:4"}}, "'wheel:4'");
  complaint = "QUERY_FW: output mailbox at 0x8";
}

TEST_F(control, objects_of_a_driver_at_work) {
  begin();
  c.disconnect();
  FILE* held = popen(
      ("echo $$; exec " + std::string(HCACTL) + " --vfio-user " + socket + " up --hold").c_str(),
      "r");
  ASSERT_NE(nullptr, held);
  std::array<char, 512> line{};
  ASSERT_NE(nullptr, std::fgets(line.data(), line.size(), held));
  const pid_t process = std::atoi(line.data());
  while (std::string(line.data()).find("held ") == std::string::npos)
    ASSERT_NE(nullptr, std::fgets(line.data(), line.size(), held));
  const json now = grant("state");
  EXPECT_TRUE(now["client"]["connected"].get<bool>());
  EXPECT_GT(now["client"]["mapped_bytes"].get<std::uint64_t>(), 0u);
  EXPECT_TRUE(now["adapter"]["bus_master"].get<bool>());
  EXPECT_TRUE(now["ports"][0]["open"].get<bool>());
  // Those that nobody made all read the same: what the adapter writes over memory that it is lent.
  std::set<std::string> different;
  for (unsigned number = 0; number < 128; ++number) {
    const json answer = ask("dump", {{"object", "eq:" + std::to_string(number)}});
    if (answer.value("ok", false)) different.insert(answer["fields"].dump());
  }
  EXPECT_EQ(counter("event_queues") + 1, different.size());
  kill(process, SIGTERM);
  pclose(held);
  EXPECT_FALSE(grant("state")["ports"][0]["open"].get<bool>());
}

TEST_F(control, the_state_of_ports_and_their_cables) {
  begin({"--link2", "eth", "--port2", "stream:listen=" + files.path("wire")});
  json one = port(1), two = port(2);
  EXPECT_EQ("ib", one["link"]);
  EXPECT_EQ("none", one["cable"]["to"]);
  EXPECT_TRUE(one["peer"].get<bool>()) << "the built-in subnet manager";
  EXPECT_FALSE(one["open"].get<bool>());
  EXPECT_EQ("eth", two["link"]);
  EXPECT_EQ("listening", two["cable"]["state"]);
  set("cable1", "off");
  EXPECT_FALSE(port(1)["cable"]["plugged"].get<bool>());
  set("cable1", "on");
  EXPECT_TRUE(port(1)["cable"]["plugged"].get<bool>());
  const json filter = grant("receives", {{"port", 2}});
  EXPECT_FALSE(filter["open"].get<bool>());
  refuse("receives", {{"port", 3}}, "port 3");
}

TEST_F(control, one_port_has_one_cable) {
  begin({"--ports", "1"});
  EXPECT_EQ(1u, grant("state")["ports"].size());
  refuse("set", {{"name", "cable2"}, {"value", "off"}}, "the adapter has 1 port");
}

TEST_F(control, the_program_itself_asks) {
  begin();
  const testing::answer granted = ask_by_program("{\"request\":\"get\", \n\"name\":\"strict\"}");
  EXPECT_EQ(0, granted.code) << granted.text;
  EXPECT_EQ("off", json::parse(granted.text)["value"]);
  const testing::answer refused = ask_by_program("{\"request\":\"get\"}");
  EXPECT_EQ(3, refused.code) << refused.text;
  EXPECT_FALSE(json::parse(refused.text)["ok"].get<bool>());
  EXPECT_EQ(2, ask_by_program(" ").code);
  const std::string device = FREEHCA_DEVICE;
  EXPECT_EQ(2, testing::run_program(device + " --ask '{}' 2>&1").code);
  EXPECT_EQ(2, testing::run_program(device + " --socket x --control y --ask '{}' 2>&1").code);
  EXPECT_EQ(
      1,
      testing::run_program(device + " --control " + files.path("none") + " --ask '{}' 2>&1").code);
}

TEST_F(control, the_socket_goes_with_the_server) {
  begin();
  c.disconnect();
  EXPECT_EQ(0, server.stop());
  EXPECT_NE(0, access(path.c_str(), F_OK));
  EXPECT_TRUE(caller->hung_up());
}

TEST_F(control, a_path_that_cannot_be_is_told) {
  served_program one;
  one.start({"--socket", socket, "--control", "/proc/no/such/folder"});
  EXPECT_EQ(1, one.wait());
  EXPECT_NE(std::string::npos, one.said().find("--control /proc/no/such/folder"));
  EXPECT_NE(0, access(socket.c_str(), F_OK)) << "nothing is left";
}

}  // namespace
}  // namespace freehca::vfio_user
