// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A new build takes the place of a running server (--upgrade). The server's program file is a link
// that the tests replace.
#include <linux/pci_regs.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "control_caller.hpp"
#include "hand_over.hpp"
#include "run_program.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

using nlohmann::json;
using testing::answer;
using testing::run_program;

template <class Condition>
bool becomes_true(const Condition& condition) {
  for (int i = 0; i < 20000; ++i) {
    if (condition()) return true;
    usleep(1000);
  }
  return false;
}

// The letter of a process's state; 0: it has ended. Nobody may have waited for it.
char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("State:\t") && line.size() > 7) return line[7] == 'Z' ? '\0' : line[7];
  return '\0';
}

/// A server that can be replaced, and its files.
class replaced_server {
 public:
  replaced_server() { replace_by_link(FREEHCA_DEVICE); }

  void start(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(),
                     {"--socket", socket, "--control", control, "--restarts", "on"});
    server.start(arguments);
  }
  void replace_by_link(const std::string& target) const {
    std::filesystem::create_symlink(target, program + ".new");
    std::filesystem::rename(program + ".new", program);
  }
  // Another build: a script that runs instead of the program. "$@" are the program's arguments.
  void replace_by_script(const std::string& text) const {
    const std::string path = program + ".new";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    std::filesystem::rename(path, program);
  }
  answer upgrade() const {
    return run_program(std::string(FREEHCA_DEVICE) + " --upgrade " + control + " 2>&1");
  }
  void expect_upgrade() const {
    const unsigned before = times_said("has taken over");
    const auto [code, text] = upgrade();
    EXPECT_EQ(0, code) << text << server.said();
    // The answer comes from the process that ends.
    EXPECT_TRUE(becomes_true([&] { return times_said("has taken over") == before + 1; }));
    EXPECT_NE(std::string::npos, text.find("has taken over")) << text;
  }
  void expect_refusal(const std::string& words) const {
    const auto [code, text] = upgrade();
    EXPECT_EQ(3, code) << text;
    EXPECT_NE(std::string::npos, text.find("the server goes on as before: upgrade: ")) << text;
    EXPECT_NE(std::string::npos, text.find(words)) << text;
  }
  std::string hcactl(const std::string& arguments) const {
    return std::string(HCACTL) + " --vfio-user " + socket + " " + arguments + " 2>&1";
  }
  json state() const { return control_caller(control).ask("{\"request\":\"state\"}"); }
  unsigned times_said(const std::string& words) const {
    const std::string all = server.said();
    unsigned count = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1))
      ++count;
    return count;
  }
  // The only child of the program.
  pid_t adapter_process() const {
    const std::string pid = std::to_string(server.process());
    pid_t child = 0;
    std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >> child;
    return child;
  }

  folder files;
  const std::string program = files.path("program"), socket = files.path("device"),
                    control = files.path("control");
  started_program server{program};
};

struct upgrade : ::testing::Test {
  void start(std::vector<std::string> arguments = {}) {
    one.start(std::move(arguments));
    ASSERT_EQ(0, c.connect(one.socket)) << one.server.said();
    ASSERT_EQ(0, c.negotiate());
  }
  void expect_clean_end() {
    c.disconnect();
    EXPECT_EQ(0, one.server.stop()) << one.server.said();
    EXPECT_EQ(0u, one.times_said("complaint")) << one.server.said();
    EXPECT_NE(0, access(one.socket.c_str(), F_OK)) << "the socket is left";
    EXPECT_NE(0, access(one.control.c_str(), F_OK)) << "the control socket is left";
  }
  std::uint32_t configuration(unsigned offset, unsigned bytes) {
    std::array<std::byte, 4> data{};
    EXPECT_EQ(0, c.read(configuration_region, offset, std::span(data).first(bytes)));
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
      value |= std::to_integer<std::uint32_t>(data[i]) << (8 * i);
    return value;
  }
  void set_configuration(unsigned offset, std::uint32_t value) {
    std::array<std::byte, 2> data{std::byte(value), std::byte(value >> 8)};
    EXPECT_EQ(0, c.write(configuration_region, offset, data));
  }

  replaced_server one;
  client c;
};

// The driver verifies each byte, and knows nothing of the upgrades.
TEST_F(upgrade, under_traffic_again_and_again) {
  for (const char* const doorbells : {"messages", "polled"}) {
    SCOPED_TRACE(doorbells);
    one.start({"--doorbells", doorbells, "--closed", "required", "--strict", "on"});
    std::atomic<bool> ended = false;
    answer moved;
    std::thread traffic([&] {
      moved = run_program(one.hcactl("ping --messages 300"));
      ended = true;
    });
    EXPECT_TRUE(becomes_true([&] {
      control_caller asks(one.control);
      const json found = asks.ask("counters", {{"names", {"transport_packets_sent"}}});
      return found["counters"].value("transport_packets_sent", 0u) > 100;
    }));
    unsigned upgrades = 0;
    for (pid_t before = one.adapter_process(); upgrades < 5 || (!ended && upgrades < 20);
         ++upgrades) {
      one.expect_upgrade();
      const pid_t now = one.adapter_process();
      EXPECT_NE(before, now);
      before = now;
    }
    traffic.join();
    EXPECT_EQ(0, moved.code) << moved.text;
    EXPECT_NE(std::string::npos, moved.text.find("RDMA read")) << moved.text;
    EXPECT_EQ(upgrades, one.times_said("has taken over"));
    EXPECT_EQ(0u, one.times_said("takes its place")) << "no process has died";
    expect_clean_end();
  }
}

// Neither end sees the link go down.
TEST_F(upgrade, of_both_ends_of_a_cable_leaves_the_link_up) {
  replaced_server other;
  const std::string wire = one.files.path("wire");
  one.start({"--port1", "stream:listen=" + wire, "--trace"});
  other.start({"--port1", "stream:connect=" + wire, "--guid", "0002:c903:00f0:cb00", "--trace"});
  const auto port_events = [&](const replaced_server& of) { return of.times_said(": type 0x9"); };
  std::array<std::thread, 2> holders;
  const std::array<replaced_server*, 2> both{&one, &other};
  std::array<pid_t, 2> pids{};
  for (std::size_t i = 0; i < both.size(); ++i) {
    const std::string file = both[i]->files.path("pid");
    holders[i] = std::thread([&, i, file] {
      run_program("echo $$ > " + file + "; exec " + both[i]->hcactl("up --hold"));
    });
  }
  const auto port_is = [](const replaced_server& of, std::size_t index, const char* what) {
    const json found = of.state();
    return found.contains("ports") && found["ports"][index].value(what, false);
  };
  const auto link_up = [&](const replaced_server& of) { return port_is(of, 0, "link_up"); };
  EXPECT_TRUE(becomes_true([&] { return link_up(one) && link_up(other); }));
  // The built-in subnet manager makes the second port Active, which raises an event.
  EXPECT_TRUE(
      becomes_true([&] { return port_is(one, 1, "active") && port_is(other, 1, "active"); }));
  const std::array<unsigned, 2> before{port_events(one), port_events(other)};
  for (int i = 0; i < 3; ++i)
    for (replaced_server* const each : both) {
      each->expect_upgrade();
      EXPECT_TRUE(link_up(one));
      EXPECT_TRUE(link_up(other));
    }
  EXPECT_EQ(before[0], port_events(one));
  EXPECT_EQ(before[1], port_events(other));
  control_caller(other.control).ask("set", {{"name", "cable1"}, {"value", "off"}});
  EXPECT_TRUE(becomes_true([&] { return !link_up(one); })) << "the cable still leads there";
  for (std::size_t i = 0; i < both.size(); ++i) {
    std::ifstream(both[i]->files.path("pid")) >> pids[i];
    ASSERT_GT(pids[i], 0);
    kill(pids[i], SIGTERM);
    holders[i].join();
    EXPECT_EQ(0, both[i]->server.stop());
  }
  EXPECT_NE(0, access(wire.c_str(), F_OK)) << "the wire's path is left";
}

TEST_F(upgrade, memory_registers_and_interrupts_stay_the_client_s) {
  start();
  shared_memory host(0x10000);
  ASSERT_EQ(0, c.map(0x100000, host.bytes(), host.file()));
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  const descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int number = event.get();
  const irq_set by_file{sizeof(irq_set), irq_set_eventfd | irq_set_trigger, msix_irq, 5, 1};
  ASSERT_EQ(0, c.set_irqs(by_file, {&number, 1}));
  std::array<std::byte, 4> entry{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ASSERT_EQ(0, c.write(bar0_region, device_server::msix_table_at, entry));
  one.expect_upgrade();
  std::uint64_t count = 0;
  EXPECT_NE(8, read(event.get(), &count, sizeof count)) << "an upgrade signals nothing";
  EXPECT_EQ(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, configuration(PCI_COMMAND, 2));
  std::array<std::byte, 4> found{};
  ASSERT_EQ(0, c.read(bar0_region, device_server::msix_table_at, found));
  EXPECT_EQ(entry, found);
  EXPECT_EQ(EEXIST, c.map(0x100000, host.bytes(), host.file()));
  const irq_set now{sizeof(irq_set), irq_set_none | irq_set_trigger, msix_irq, 5, 1};
  ASSERT_EQ(0, c.set_irqs(now));
  EXPECT_EQ(8, read(event.get(), &count, sizeof count));
  EXPECT_FALSE(one.state()["adapter"].value("failed", true));
  expect_clean_end();
}

// Memory that is reached by messages is no obstacle, since no answer is awaited.
TEST_F(upgrade, memory_without_a_file_stays) {
  start();
  ASSERT_EQ(0, c.map(0x100000, 0x1000, -1));
  one.expect_upgrade();
  EXPECT_EQ(1u, one.state()["client"]["mappings"]);
  EXPECT_EQ(0, c.unmap(0x100000, 0x1000));
  expect_clean_end();
}

TEST_F(upgrade, without_a_client_and_with_the_next_one) {
  one.start();
  one.expect_upgrade();
  ASSERT_EQ(0, c.connect(one.socket));
  ASSERT_EQ(0, c.negotiate());
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
  expect_clean_end();
}

TEST_F(upgrade, settings_of_the_control_socket_stay) {
  one.start();
  control_caller(one.control).ask("set", {{"name", "cable1"}, {"value", "off"}});
  one.expect_upgrade();
  control_caller asks(one.control);
  EXPECT_EQ("off", asks.ask("get", {{"name", "cable1"}})["value"]);
  expect_clean_end();
}

TEST_F(upgrade, the_new_process_saves_the_state_at_the_end) {
  const std::string file = one.files.path("state");
  start({"--save-on", "TERM", file});
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY);
  one.expect_upgrade();
  // With its client: a client that goes resets the function.
  EXPECT_EQ(0, one.server.stop()) << one.server.said();
  c.disconnect();
  EXPECT_NE(0, access((file + ".new").c_str(), F_OK));
  start({"--load", file});
  EXPECT_EQ(std::uint32_t{PCI_COMMAND_MEMORY}, configuration(PCI_COMMAND, 2));
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  one.expect_upgrade();
  EXPECT_EQ(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, configuration(PCI_COMMAND, 2))
      << "a file is loaded at the start alone";
  expect_clean_end();
}

// The keeper finds the state and the end of its process together.
TEST_F(upgrade, goes_on_if_the_old_process_is_killed_behind_its_state) {
  start();
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY);
  const pid_t before = one.adapter_process();
  kill(one.server.process(), SIGSTOP);
  control_caller asks(one.control);
  asks.send("{\"request\":\"upgrade\"}\n");
  // The process waits for an answer when it has a file with the state, and sleeps.
  const auto has_state = [before] {
    std::error_code ignored;
    for (const auto& file :
         std::filesystem::directory_iterator("/proc/" + std::to_string(before) + "/fd", ignored))
      if (std::filesystem::read_symlink(file.path(), ignored).string().find("freehca state") !=
          std::string::npos)
        return true;
    return false;
  };
  EXPECT_TRUE(becomes_true([&] { return has_state() && state_of(before) == 'S'; }));
  kill(before, SIGKILL);
  kill(one.server.process(), SIGCONT);
  EXPECT_TRUE(becomes_true([&] { return one.times_said("has taken over") == 1; }))
      << one.server.said();
  EXPECT_EQ(std::uint32_t{PCI_COMMAND_MEMORY}, configuration(PCI_COMMAND, 2));
  EXPECT_FALSE(one.state()["adapter"].value("failed", true));
  expect_clean_end();
}

// A build that does not take over leaves everything as it was.
TEST_F(upgrade, that_is_refused_leaves_the_old_process) {
  start();
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY);
  const pid_t before = one.adapter_process();
  const std::string device = FREEHCA_DEVICE;
  one.replace_by_script("exec " + device + " --x-device-id 0x1003 \"$@\"");
  one.expect_refusal("x-device-id is 0x0 in the state, and 0x1003 in this server");
  one.replace_by_script("exec " + device + " --port1 stream:connect=/nowhere/wire \"$@\"");
  one.expect_refusal("--port1: the running server has no wire at this port");
  one.replace_by_script("exec " + device + " --no-such-option \"$@\"");
  one.expect_refusal("its program ended with exit code 2");
  one.replace_by_script("kill -9 $$");
  one.expect_refusal("its program was ended by signal 9");
  one.replace_by_link("/nowhere/program");
  one.expect_refusal("No such file");
  EXPECT_EQ(before, one.adapter_process());
  EXPECT_EQ(std::uint32_t{PCI_COMMAND_MEMORY}, configuration(PCI_COMMAND, 2));
  one.replace_by_link(device);
  one.expect_upgrade();
  EXPECT_NE(before, one.adapter_process());
  EXPECT_EQ(std::uint32_t{PCI_COMMAND_MEMORY}, configuration(PCI_COMMAND, 2));
  expect_clean_end();
}

TEST_F(upgrade, obstacles_are_named) {
  start();
  control_caller asks(one.control);
  asks.ask("set", {{"name", "x-fault-command"}, {"value", "any:silent"}});
  one.expect_refusal("commands have a judge");
  asks.ask("set", {{"name", "x-fault-command"}, {"value", ""}});
  const header half{9, static_cast<std::uint16_t>(command::region_read), 32, type_command, 0};
  ASSERT_EQ(16, send(c.raw().socket(), &half, sizeof half, 0));
  one.expect_refusal("the client has sent a part of a message");
  const region_access rest{PCI_VENDOR_ID, configuration_region, 2};
  ASSERT_EQ(16, send(c.raw().socket(), &rest, sizeof rest, 0));
  one.expect_upgrade();
  message reply;
  EXPECT_TRUE(becomes_true([&] { return c.raw().receive(reply) == arrival::message; }));
  EXPECT_EQ(9, reply.head.id);
  expect_clean_end();
}

TEST_F(upgrade, needs_a_keeper_and_a_server) {
  one.server.start({"--socket", one.socket, "--control", one.control});
  one.expect_refusal("the server was started without --restarts on");
  EXPECT_EQ(0, one.server.stop());
  EXPECT_EQ(1, one.upgrade().code) << "nobody is at the socket";
  const auto [code, text] = run_program(std::string(FREEHCA_DEVICE) + " --upgrade " + one.control +
                                        " --socket " + one.socket + " 2>&1");
  EXPECT_EQ(2, code);
  EXPECT_NE(std::string::npos, text.find("it goes alone")) << text;
}

// The new build serves then, after a death too.
TEST_F(upgrade, and_a_death_after_it) {
  start();
  one.expect_upgrade();
  const pid_t upgraded = one.adapter_process();
  usleep(110'000);  // then the life is not short, and the next process begins at once
  kill(upgraded, SIGKILL);
  EXPECT_TRUE(becomes_true([&] { return one.times_said("is served on") == 1; }))
      << one.server.said();
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
  EXPECT_TRUE(one.state()["adapter"].value("failed", false)) << "as after each death";
  ASSERT_EQ(0, c.reset());
  one.expect_upgrade();
  EXPECT_FALSE(one.state()["adapter"].value("failed", true));
  expect_clean_end();
}

TEST_F(upgrade, an_end_that_is_asked_for_meanwhile) {
  start();
  const std::string began = one.files.path("began");
  one.replace_by_script("echo > " + began + "; exec sleep 1000");
  answer refused;
  std::thread command([&] { refused = one.upgrade(); });
  EXPECT_TRUE(becomes_true([&] { return access(began.c_str(), F_OK) == 0; }));
  expect_clean_end();
  command.join();
  EXPECT_EQ(3, refused.code) << refused.text;
  EXPECT_NE(std::string::npos, refused.text.find("was asked to end")) << refused.text;
}

// The process that waits for the new build has handed over everything.
TEST_F(upgrade, goes_on_if_the_old_process_is_killed_meanwhile) {
  start();
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY);
  const std::string began = one.files.path("began"), goes_on = one.files.path("goes_on");
  one.replace_by_script("echo > " + began + "; while ! [ -e " + goes_on +
                        " ]; do sleep 0.01; done; exec " + FREEHCA_DEVICE + " \"$@\"");
  const pid_t before = one.adapter_process();
  std::thread command([&] { one.upgrade(); });
  EXPECT_TRUE(becomes_true([&] { return access(began.c_str(), F_OK) == 0; }));
  kill(before, SIGKILL);
  std::ofstream(goes_on) << "on";
  command.join();
  EXPECT_TRUE(becomes_true([&] { return one.times_said("has taken over") == 1; }))
      << one.server.said();
  EXPECT_EQ(std::uint32_t{PCI_COMMAND_MEMORY}, configuration(PCI_COMMAND, 2));
  EXPECT_FALSE(one.state()["adapter"].value("failed", true));
  expect_clean_end();
}

TEST_F(upgrade, a_user_network_goes_on) {
  one.start({"--link1", "eth", "--port1", "user"});
  const pid_t before = one.adapter_process();
  const std::string pid = std::to_string(before);
  pid_t network = 0;
  std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >> network;
  ASSERT_GT(network, 0);
  one.expect_upgrade();
  EXPECT_NE(0, state_of(network));
  EXPECT_EQ("open", one.state()["ports"][0]["cable"]["state"]);
  expect_clean_end();
  EXPECT_TRUE(becomes_true([&] { return state_of(network) == 0; }));
}

TEST(hand_over, another_version_is_refused_with_both) {
  using device_server::hand_over_version;
  std::array<int, 2> ends{};
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  channel keeper{descriptor(ends[0])}, process{descriptor(ends[1])};
  const descriptor file(memfd_create("state", MFD_CLOEXEC));
  const int number = file.get();
  const auto first_record = [&](const hand_over_version& about) {
    EXPECT_TRUE(keeper.send(keeper::record_head(keeper::record::shared_memory), bytes_of(about), {},
                            {&number, 1}));
    device_server::handed_over to;
    return device_server::receive_hand_over(process, to);
  };
  EXPECT_EQ(
      "the running server hands over by version 2 with 5 shared bytes, and this build takes "
      "version 1 with " +
          std::to_string(sizeof(keeper::shared_state)),
      first_record({2, 1, 5}));
  EXPECT_NE("", first_record({1, 1, sizeof(keeper::shared_state)})) << "the file has another size";
  keeper.send(keeper::record_head(keeper::record::ready));
  device_server::handed_over to;
  EXPECT_EQ("this is no keeper of a server", device_server::receive_hand_over(process, to));
  keeper.close();
  EXPECT_EQ("--taken-over: there is no keeper", device_server::receive_hand_over(process, to));
}

}  // namespace
}  // namespace freehca::vfio_user
