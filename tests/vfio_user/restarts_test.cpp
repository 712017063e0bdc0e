// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The adapter's process dies, and another one goes on with its client (--restarts on).
#include <linux/pci_regs.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include <freehca/wires/socket_address.hpp>

#include "command_register.hpp"
#include "control_caller.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

using layouts::command_status;
using layouts::opcode;

void pause_ms(int milliseconds) {
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
}

struct restarts : served {
  void start_kept(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--restarts", "on", "--control", files.path("control")});
    start(std::move(arguments));
  }
  // The only child of the program; 0: between two.
  static pid_t child_of(pid_t process) {
    const std::string pid = std::to_string(process);
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    pid_t child = 0;
    children >> child;
    return child;
  }
  // Waited for.
  pid_t adapter_process() const {
    for (int i = 0; i < 5000; ++i) {
      if (const pid_t child = child_of(server.process()); child > 0) return child;
      pause_ms(1);
    }
    throw std::runtime_error("the program has no child: " + server.said());
  }
  void kill_adapter() {
    const pid_t before = adapter_process();
    kill(before, SIGKILL);
    for (int i = 0; i < 5000; ++i) {
      const pid_t now = child_of(server.process());
      if (now > 0 && now != before) return;
      pause_ms(1);
    }
    FAIL() << "no other process has come: " << server.said();
  }
  std::string setting(const std::string& name) {
    control_caller asks(files.path("control"));
    return asks.ask("get", {{"name", name}})["value"].get<std::string>();
  }
  static descriptor listener(const std::string& path) {
    descriptor made = wires::make_socket(AF_UNIX, SOCK_STREAM);
    EXPECT_EQ("", wires::bind_unix(made.get(), path));
    EXPECT_EQ(0, listen(made.get(), 4));
    return made;
  }
  // How many of a process's descriptors are that file.
  static unsigned open_files(pid_t process, const std::string& name) {
    unsigned count = 0;
    std::error_code ignored;
    for (const auto& one :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", ignored)) {
      const std::string to = std::filesystem::read_symlink(one.path(), ignored).string();
      count += to.find(name) != std::string::npos ? 1u : 0u;
    }
    return count;
  }
  // Waited for.
  template <class Condition>
  static bool becomes_true(const Condition& condition) {
    for (int i = 0; i < 5000; ++i) {
      if (condition()) return true;
      pause_ms(1);
    }
    return false;
  }
  bool says(const std::string& words) const {
    return becomes_true([&] { return server.said().find(words) != std::string::npos; });
  }
  unsigned times_said(const std::string& words) const {
    const std::string all = server.said();
    unsigned count = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1))
      ++count;
    return count;
  }
  // Bytes that the client has sent and the server has not taken.
  int not_taken() {
    int bytes = -1;
    EXPECT_EQ(0, ioctl(c.raw().socket(), SIOCOUTQ, &bytes));
    return bytes;
  }
};

TEST_F(restarts, the_client_finds_an_internal_error_and_after_a_reset_an_adapter_in_order) {
  start_kept();
  shared_memory host(0x10000);
  ASSERT_EQ(0, c.map(0x100000, host.bytes(), host.file()));
  enable();
  ASSERT_EQ(command_status::ok, run_command(*this, opcode::query_fw, 0x100000, true));
  kill_adapter();
  EXPECT_EQ(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, configuration(PCI_COMMAND, 2));
  EXPECT_EQ("on", setting("x-fault-catastrophic"));
  ASSERT_EQ(0, c.reset());
  EXPECT_EQ("off", setting("x-fault-catastrophic"));
  enable();
  host.at()[1] = std::byte{0xee};
  EXPECT_EQ(command_status::ok, run_command(*this, opcode::query_fw, 0x100000, true));
  EXPECT_NE(std::byte{0xee}, host.at()[1]) << "the memory that was mapped before";
  EXPECT_EQ(EEXIST, c.map(0x100000, host.bytes(), host.file()));
  EXPECT_EQ(0, c.unmap(0x100000, host.bytes()));
  EXPECT_TRUE(says("was ended by signal 9"));
}

TEST_F(restarts, interrupts_stay_the_client_s) {
  start_kept();
  const descriptor told(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int number = told.get();
  const irq_set by_file{sizeof(irq_set), irq_set_eventfd | irq_set_trigger, msix_irq, 5, 1};
  ASSERT_EQ(0, c.set_irqs(by_file, {&number, 1}));
  kill_adapter();
  const irq_set now{sizeof(irq_set), irq_set_none | irq_set_trigger, msix_irq, 5, 1};
  ASSERT_EQ(0, c.set_irqs(now));
  std::uint64_t count = 0;
  EXPECT_EQ(8, read(told.get(), &count, sizeof count));
  EXPECT_EQ(1u, count);
}

TEST_F(restarts, a_request_that_nobody_read_is_answered) {
  start_kept();
  kill(adapter_process(), SIGSTOP);
  std::thread reader([&] { EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2)); });
  EXPECT_TRUE(becomes_true([&] { return not_taken() > 0; })) << "the request is in the socket";
  kill_adapter();
  reader.join();
}

// At instants that are spread: the client never waits in vain, and never hears an answer twice.
TEST_F(restarts, killed_often_under_requests) {
  start_kept();
  std::atomic<bool> enough = false;
  std::atomic<unsigned> asked = 0;
  std::thread reader([&] {
    for (; !enough; ++asked) ASSERT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
  });
  for (unsigned i = 0; i < 10 && !HasFatalFailure(); ++i) {
    // Another number of requests each time. Then the life is no longer short, by the rule's clock.
    const unsigned before = asked;
    EXPECT_TRUE(becomes_true([&] { return asked > before + 10 + 7 * i; }));
    pause_ms(101);
    kill_adapter();
  }
  enough = true;
  reader.join();
  // The last life may have begun behind the last request.
  EXPECT_TRUE(becomes_true([&] { return times_said("is served on") == 10; })) << server.said();
  EXPECT_EQ(0u, times_said("refused")) << "no request is to blame";
}

// Stops a process at the beginning and at the end of each of its system calls.
class system_call_stops {
 public:
  explicit system_call_stops(pid_t process) : process_(process) {
    EXPECT_EQ(0, ptrace(PTRACE_SEIZE, process, nullptr, PTRACE_O_TRACESYSGOOD));
    EXPECT_EQ(0, ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr));
    EXPECT_TRUE(stops());
  }
  ~system_call_stops() { waitpid(process_, nullptr, __WALL); }
  // Goes on to the next stop. False: there was none for a tenth of a second.
  bool next() {
    if (std::exchange(stopped_, false)) {
      EXPECT_EQ(0, ptrace(PTRACE_SYSCALL, process_, nullptr, nullptr));
    }
    return stops();
  }
  // Its parent learns of it when the destructor has taken the death.
  void kill() const { EXPECT_EQ(0, ::kill(process_, SIGKILL)); }

 private:
  bool stops() {
    for (int i = 0; i < 1000 && !stopped_; ++i) {
      int status = 0;
      stopped_ = waitpid(process_, &status, __WALL | WNOHANG) == process_ && WIFSTOPPED(status);
      if (!stopped_) usleep(100);
    }
    return stopped_;
  }
  pid_t process_;
  bool stopped_ = false;
};

// Before and behind each system call of a request, from its arrival to its reply.
TEST_F(restarts, killed_at_each_system_call_of_a_request) {
  start_kept();
  constexpr int most_stops = 100, least_stops = 6;
  bool answered = false;
  int stop = 0;
  for (; !answered && stop < most_stops && !HasFailure(); ++stop) {
    ASSERT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
    pause_ms(101);  // the life is no longer short, by the rule's clock
    const pid_t adapter = adapter_process();
    std::thread reader;
    {
      system_call_stops stops(adapter);
      while (stops.next()) continue;  // until it waits for a request
      reader = std::thread([&] { EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2)); });
      int passed = 0;
      while (passed < stop && stops.next()) ++passed;
      answered = passed < stop;
      stops.kill();
    }
    EXPECT_TRUE(becomes_true([&] { return adapter_process() != adapter; }));
    reader.join();
  }
  EXPECT_TRUE(answered) << "a process that was never killed in the request";
  EXPECT_GT(stop, least_stops);
  EXPECT_EQ(0u, times_said("hung up")) << server.said();
}

// The client has a part of a reply, so no process may send it another one.
TEST_F(restarts, killed_behind_a_reply_that_was_cut) {
  start_kept();
  const region_access all{0, 0, greatest_data};  // of BAR 0, more than a socket holds
  ASSERT_TRUE(c.raw().send(
      {1, static_cast<std::uint16_t>(command::region_read), 0, type_command, 0}, bytes_of(all)));
  {
    system_call_stops stops(adapter_process());
    while (stops.next()) continue;  // until it waits for the client to read
    EXPECT_TRUE(becomes_true([&] { return stops.next(); })) << "it waits for ever";
    EXPECT_TRUE(stops.next()) << "it does nothing about it";
    stops.kill();
  }
  message reply;
  arrival what = arrival::nothing;
  EXPECT_TRUE(becomes_true([&] { return (what = c.raw().receive(reply)) != arrival::nothing; }));
  EXPECT_EQ(arrival::closed, what);
  EXPECT_TRUE(says("hung up"));
}

TEST_F(restarts, doorbell_pages_stay_mapped_and_forget_what_was_rung) {
  start_kept({"--doorbells", "polled"});
  region_info info{};
  info.index = bar2_region;
  std::vector<mappable_area> areas;
  descriptor pages;
  ASSERT_EQ(0, c.describe(info, areas, pages));
  ASSERT_EQ(2u, areas.size());
  void* at = mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, pages.get(), 0);
  ASSERT_NE(MAP_FAILED, at);
  auto* word = static_cast<volatile std::uint32_t*>(at) + areas[0].offset / 4;
  *word = 0x4100;
  kill_adapter();
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2)) << "the other one is there";
  EXPECT_EQ(0u, *word);
  descriptor again;
  ASSERT_EQ(0, c.describe(info, areas, again));
  *word = 0x4200;
  std::uint32_t seen = 0;
  EXPECT_EQ(4, pread(again.get(), &seen, 4, static_cast<off_t>(areas[0].offset)));
  EXPECT_EQ(0x4200u, seen) << "the same file";
  munmap(at, info.size);
}

TEST_F(restarts, a_client_whose_memory_comes_by_messages_is_hung_up_on) {
  start_kept();
  ASSERT_EQ(0, c.map(0, 0x1000, -1));
  kill_adapter();
  EXPECT_TRUE(says("reached by messages"));
  std::array<std::byte, 4> data{};
  EXPECT_EQ(ECONNRESET, c.read(configuration_region, 0, data));
  c.disconnect();
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate());
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
}

TEST_F(restarts, without_a_client_it_waits_for_one_again) {
  start_kept();
  c.disconnect();
  EXPECT_TRUE(says("the client has gone"));
  kill_adapter();
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate());
  EXPECT_EQ("off", setting("x-fault-catastrophic")) << "nobody has seen the adapter die";
}

TEST_F(restarts, who_dies_at_once_again_and_again_is_given_up) {
  start_kept();
  // Whoever is there; one may be there for long before it is found on a machine that is busy.
  for (int i = 0; i < 5000 && server.said().find("given up") == std::string::npos; ++i) {
    if (const pid_t one = child_of(server.process()); one > 0) kill(one, SIGKILL);
    pause_ms(1);
  }
  if (server.said().find("given up") == std::string::npos) kill(server.process(), SIGKILL);
  EXPECT_EQ(1, server.wait()) << server.said();
  EXPECT_NE(std::string::npos, server.said().find("given up")) << server.said();
}

// No process after the first one can begin: there is no room for the header of its recording.
TEST_F(restarts, what_cannot_begin_again_and_again_is_given_up) {
  const std::size_t header_bytes = 16384;
  start_kept(
      {"--x-record", files.path("recording"), "--x-record-label", std::string(header_bytes, 'x')});
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = header_bytes;
  ASSERT_EQ(0, prlimit(server.process(), RLIMIT_FSIZE, &limit, nullptr));
  kill(adapter_process(), SIGKILL);
  EXPECT_TRUE(says("given up"));
  EXPECT_EQ(1, server.wait()) << server.said();
  EXPECT_EQ(4u, times_said("takes its place"));
  EXPECT_EQ(1u, times_said("the client cannot be kept")) << "it may be to blame";
  c.disconnect();
}

TEST_F(restarts, when_the_keeper_dies_the_adapter_goes_on) {
  for (const bool second : {false, true}) {
    start_kept();
    if (second) {
      kill_adapter();
      EXPECT_TRUE(says("is served on"));
    }
    const pid_t adapter = adapter_process();
    kill(server.process(), SIGKILL);
    EXPECT_EQ(-1, server.wait());
    EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
    shared_memory host(0x1000);
    EXPECT_EQ(0, c.map(0, host.bytes(), host.file()));
    EXPECT_TRUE(says("keeps the client cannot be told"));
    EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
    c.disconnect();
    EXPECT_EQ(0, kill(adapter, SIGTERM));
    for (const std::string& path : {socket, files.path("control")}) {
      for (int i = 0; i < 5000 && access(path.c_str(), F_OK) == 0; ++i) pause_ms(1);
      EXPECT_NE(0, access(path.c_str(), F_OK)) << "it has ended in order";
    }
  }
}

// Not even a version was agreed on.
TEST_F(restarts, a_client_that_has_just_come) {
  server.start({"--socket", socket, "--restarts", "on"});
  client before;
  ASSERT_EQ(0, before.connect(socket));
  ASSERT_EQ(0, before.negotiate());
  const std::array<std::byte, 2> command{std::byte{6}};
  EXPECT_EQ(0, before.write(configuration_region, PCI_COMMAND, command));
  before.disconnect();
  EXPECT_TRUE(says("the client has gone"));
  ASSERT_EQ(0, c.connect(socket));
  EXPECT_TRUE(
      says("a client has come\nfreehca-device: the client has gone\n"
           "freehca-device: a client has come"));
  kill_adapter();
  ASSERT_EQ(0, c.negotiate());
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
  EXPECT_EQ(0u, configuration(PCI_COMMAND, 2)) << "not the other client's";
}

// Whoever starts it may not want to hear of children.
TEST_F(restarts, children_are_waited_for_whoever_starts_it) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(0, sigaction(SIGCHLD, &ignore, &before));
  start_kept();
  ASSERT_EQ(0, sigaction(SIGCHLD, &before, nullptr));
  kill_adapter();
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
}

TEST_F(restarts, it_ends_when_it_is_asked_to_and_leaves_nothing) {
  start_kept();
  kill_adapter();
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
  c.disconnect();
  EXPECT_EQ(0, server.stop()) << server.said();
  EXPECT_NE(0, access(socket.c_str(), F_OK));
  EXPECT_NE(0, access(files.path("control").c_str(), F_OK));
}

// The keeper finds the death and the signal together.
TEST_F(restarts, an_end_that_is_asked_for_before_the_next_process_begins) {
  start_kept();
  const pid_t before = adapter_process();
  kill(server.process(), SIGSTOP);
  kill(before, SIGKILL);
  kill(server.process(), SIGTERM);
  kill(server.process(), SIGCONT);
  EXPECT_EQ(0, server.wait()) << server.said();
  EXPECT_EQ(0u, times_said("takes its place"));
  EXPECT_NE(0, access(socket.c_str(), F_OK));
}

// The next process waits, since the one before it did not live for long.
TEST_F(restarts, an_end_that_is_asked_for_while_the_next_process_is_awaited) {
  start_kept();
  kill(adapter_process(), SIGKILL);
  EXPECT_TRUE(says("takes its place"));
  EXPECT_EQ(0, server.stop()) << server.said();
  EXPECT_NE(0, access(socket.c_str(), F_OK));
}

TEST_F(restarts, an_end_that_is_asked_for_while_the_next_process_begins) {
  start_kept();
  const pid_t before = adapter_process();
  kill(before, SIGKILL);
  // Stopped as soon as it is there, most often before it has begun.
  pid_t next = 0;
  EXPECT_TRUE(becomes_true([&] {
    next = child_of(server.process());
    return next > 0 && next != before && kill(next, SIGSTOP) == 0;
  }));
  EXPECT_EQ(0, server.stop()) << server.said();
  EXPECT_NE(0, access(socket.c_str(), F_OK));
}

TEST_F(restarts, an_end_that_is_asked_for_when_the_next_process_serves) {
  start_kept();
  kill(adapter_process(), SIGKILL);
  EXPECT_TRUE(says("is served on"));
  EXPECT_EQ(0, server.stop()) << server.said();
  EXPECT_NE(0, access(socket.c_str(), F_OK));
}

TEST_F(restarts, an_end_that_a_stopped_process_is_asked_for) {
  start_kept();
  kill(adapter_process(), SIGSTOP);
  EXPECT_EQ(0, server.stop()) << server.said();
}

TEST_F(restarts, one_that_ends_by_itself_leaves_the_sockets) {
  start_kept();
  const pid_t before = adapter_process();
  kill(before, SIGTERM);
  EXPECT_TRUE(says("takes its place"));
  EXPECT_TRUE(says("is served on"));
  c.disconnect();
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate());
}

TEST_F(restarts, sockets_of_a_manager_are_the_manager_s) {
  const descriptor device = listener(files.path("by-manager"));
  const descriptor control = listener(files.path("control-by-manager"));
  const std::string other = files.path("no-socket");
  std::ofstream(other) << "somebody's";
  server.start_by_manager({"--restarts", "on", "--control", other}, {device.get(), control.get()},
                          "device:control");
  kill_adapter();
  EXPECT_TRUE(says("takes its place"));
  EXPECT_EQ(0, server.stop()) << server.said();
  EXPECT_EQ(0, access(other.c_str(), F_OK));
  EXPECT_EQ(0, access(files.path("by-manager").c_str(), F_OK));
}

TEST_F(restarts, nothing_of_a_client_outlives_it) {
  start_kept();
  {
    const descriptor memory(memfd_create("of a guest", MFD_CLOEXEC));
    ASSERT_EQ(0, ftruncate(memory.get(), 0x1000));
    ASSERT_EQ(0, c.map(0, 0x1000, memory.get()));
  }
  kill_adapter();
  EXPECT_TRUE(says("is served on"));
  EXPECT_EQ(1u, open_files(server.process(), "of a guest"));
  const pid_t adapter = adapter_process();
  for (int i = 0; i < 5000 && open_files(adapter, "of a guest") != 0; ++i) pause_ms(1);
  EXPECT_EQ(0u, open_files(adapter, "of a guest"));
  EXPECT_EQ(1u, open_files(adapter, "signalfd")) << "its descriptors can be seen";
  c.disconnect();
  EXPECT_TRUE(says("the client has gone"));
  for (int i = 0; i < 5000 && open_files(server.process(), "of a guest") != 0; ++i) pause_ms(1);
  EXPECT_EQ(0u, open_files(server.process(), "of a guest"));
}

// The rest of it would be read as the beginning of the next one.
TEST_F(restarts, a_message_that_was_taken_in_part_ends_the_client) {
  start_kept();
  const header half{9, static_cast<std::uint16_t>(command::region_read), 32, type_command, 0};
  ASSERT_EQ(16, send(c.raw().socket(), &half, sizeof half, 0));
  ASSERT_TRUE(becomes_true([&] { return not_taken() == 0; }));
  kill_adapter();
  EXPECT_TRUE(says("hung up"));
  pollfd one{c.raw().socket(), POLLIN, 0};
  ASSERT_EQ(1, poll(&one, 1, 5000));
  char byte;
  EXPECT_EQ(0, recv(c.raw().socket(), &byte, 1, 0));
}

TEST_F(restarts, what_cannot_begin_is_not_begun_again) {
  served_program one;
  one.start({"--socket", socket, "--restarts", "on", "--x-rules-off", "no_such_rule"});
  EXPECT_EQ(1, one.wait());
  EXPECT_EQ(std::string::npos, one.said().find("takes its place")) << one.said();
  one.start({"--socket", socket, "--restarts", "often"});
  EXPECT_EQ(2, one.wait());
}

TEST_F(restarts, captures_of_the_dead_one_stay) {
  start_kept({"--capture1", files.path("one.pcap")});
  kill_adapter();
  EXPECT_EQ(0x15b3u, configuration(PCI_VENDOR_ID, 2));
  EXPECT_EQ(0, access(files.path("one.pcap").c_str(), F_OK));
  EXPECT_EQ(0, access(files.path("one.pcap.2").c_str(), F_OK));
}

}  // namespace
}  // namespace freehca::vfio_user
