// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The server gives up rights after its start (--closed). The other tests run it closed as well.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <freehca/wires/socket_address.hpp>

#include "control_caller.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

const std::string whole = "; closed: Landlock ABI ";

struct closed : served {
  bool said(const std::string& words) const {
    return server.said().find(words) != std::string::npos;
  }
  // A line of /proc/PID/status.
  static std::string status(pid_t process, const std::string& name) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
    return "";
  }
  static void expect_closed(pid_t process, bool is_closed) {
    EXPECT_EQ(is_closed ? "1" : "0", status(process, "NoNewPrivs"));
    EXPECT_EQ(is_closed ? "2" : "0", status(process, "Seccomp"));
  }
  pid_t child() const {
    const std::string pid = std::to_string(server.process());
    pid_t found = 0;
    std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >> found;
    return found;
  }
  void restart() {
    c.disconnect();
    EXPECT_EQ(0, server.stop()) << server.said();
    EXPECT_NE(0, access(socket.c_str(), F_OK)) << "the socket is left";
  }
};

TEST_F(closed, the_ready_line_and_the_process_in_each_mode) {
  start();
  EXPECT_TRUE(said("ready: " + socket + whole)) << server.said();
  expect_closed(server.process(), true);
  restart();
  start({"--closed", "auto"});
  EXPECT_TRUE(said(whole)) << server.said();
  restart();
  start({"--closed", "required"});
  EXPECT_TRUE(said(whole)) << server.said();
  expect_closed(server.process(), true);
  restart();
  start({"--closed", "off"});
  EXPECT_TRUE(said("ready: " + socket + "; not closed: --closed off")) << server.said();
  expect_closed(server.process(), false);
}

TEST_F(closed, another_value_is_wrong_usage) {
  server.start({"--socket", socket, "--closed", "on"});
  EXPECT_EQ(2, server.wait());
  EXPECT_TRUE(said("auto, required or off")) << server.said();
}

// The process that keeps the client starts other processes, so it stays open.
TEST_F(closed, with_restarts_each_process_of_the_adapter_is_closed) {
  start({"--restarts", "on", "--closed", "required"});
  expect_closed(server.process(), false);
  const pid_t first = child();
  expect_closed(first, true);
  kill(first, SIGKILL);
  EXPECT_EQ(0x100715b3u, configuration(0)) << "another process answers";
  ASSERT_NE(first, child());
  expect_closed(child(), true);
  restart();
}

#ifdef FREEHCA_OLD_KERNEL
struct old_kernel : closed {
  struct lack {
    const char *parts, *text;
  };
  static constexpr lack lacks[] = {
      {"landlock", "closed in part: seccomp; the kernel has no Landlock"},
      {"seccomp", "; the kernel has no seccomp"},
      {"both", "not closed: the kernel has no Landlock; the kernel has no seccomp"}};
};

TEST_F(old_kernel, auto_closes_what_it_can) {
  for (const lack& one : lacks) {
    started_program program(FREEHCA_OLD_KERNEL);
    program.start({one.parts, FREEHCA_DEVICE, "--socket", socket});
    EXPECT_NE(std::string::npos, program.said().find("ready: " + socket + "; ")) << program.said();
    EXPECT_NE(std::string::npos, program.said().find(one.text)) << program.said();
    ASSERT_EQ(0, c.connect(socket));
    EXPECT_EQ(0, c.negotiate());
    c.disconnect();
    EXPECT_EQ(0, program.stop());
  }
}

TEST_F(old_kernel, required_ends_and_leaves_nothing) {
  for (const lack& one : lacks)
    for (const char* restarts : {"off", "on"}) {
      started_program program(FREEHCA_OLD_KERNEL);
      program.start({one.parts, FREEHCA_DEVICE, "--socket", socket, "--control",
                     files.path("control"), "--closed", "required", "--restarts", restarts});
      EXPECT_EQ(1, program.wait());
      EXPECT_NE(std::string::npos, program.said().find("--closed required: ")) << program.said();
      EXPECT_NE(std::string::npos, program.said().find(one.text)) << program.said();
      EXPECT_EQ(std::string::npos, program.said().find("ready")) << program.said();
      EXPECT_NE(0, access(socket.c_str(), F_OK)) << "the socket is left";
      EXPECT_NE(0, access(files.path("control").c_str(), F_OK)) << "the control socket is left";
    }
}
#endif

TEST_F(closed, files_and_the_control_socket) {
  const std::string control = files.path("control"), packets = files.path("packets"),
                    recording = files.path("recording");
  start({"--closed", "required", "--control", control, "--capture1", packets, "--x-record",
         recording, "--trace"});
  EXPECT_TRUE(control_caller(control).ask("{\"request\":\"state\"}").value("ok", false));
  const auto before = std::filesystem::file_size(recording);
  enable();
  read_register(0);
  EXPECT_GT(std::filesystem::file_size(recording), before);
  EXPECT_GT(std::filesystem::file_size(packets), 0u);
  restart();
  EXPECT_NE(0, access(control.c_str(), F_OK));
}

// Accepts a connection within some seconds.
descriptor accepted(const descriptor& listener) {
  pollfd one{listener.get(), POLLIN, 0};
  if (poll(&one, 1, 10'000) != 1) return {};
  return descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

TEST_F(closed, wires_that_connect_again) {
  const descriptor tcp = wires::make_socket(AF_INET, SOCK_STREAM);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof at;
  ASSERT_EQ(0, bind(tcp.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
  ASSERT_EQ(0, getsockname(tcp.get(), reinterpret_cast<sockaddr*>(&at), &bytes));
  ASSERT_EQ(0, listen(tcp.get(), 4));
  const descriptor unix_socket = wires::make_socket(AF_UNIX, SOCK_STREAM);
  const std::string path = files.path("wire");
  start({"--closed", "required", "--port1",
         "stream:connect=127.0.0.1:" + std::to_string(ntohs(at.sin_port)), "--port2",
         "stream:connect=" + path});
  ASSERT_EQ("", wires::bind_unix(unix_socket.get(), path));
  ASSERT_EQ(0, listen(unix_socket.get(), 4));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(accepted(tcp).open()) << i;
    EXPECT_TRUE(accepted(unix_socket).open()) << i;
  }
}

TEST_F(closed, wires_that_listen_leave_nothing) {
  const std::string stream = files.path("stream"), datagrams = files.path("datagrams");
  start({"--closed", "required", "--port1", "stream:listen=" + stream, "--port2",
         "dgram:local=" + datagrams + ",remote=" + files.path("remote")});
  EXPECT_EQ(0, access(stream.c_str(), F_OK));
  EXPECT_EQ(0, access(datagrams.c_str(), F_OK));
  restart();
  EXPECT_NE(0, access(stream.c_str(), F_OK));
  EXPECT_NE(0, access(datagrams.c_str(), F_OK));
}

TEST_F(closed, a_user_network_ends_with_the_server) {
  start({"--closed", "required", "--link1", "eth", "--port1", "user"});
  const pid_t network = child();
  ASSERT_GT(network, 0);
  restart();
  EXPECT_NE(0, kill(network, 0));
  EXPECT_EQ(ESRCH, errno);
}

}  // namespace
}  // namespace freehca::vfio_user
