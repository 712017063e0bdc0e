// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What passes between the program and a service manager: that it is ready, and sockets that were
// listened on before it began.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "control_caller.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

// A bound unix socket; a name that begins with @ is one of the abstract space.
descriptor bound(int type, const std::string& name) {
  descriptor made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(0, bind(made.get(), reinterpret_cast<const sockaddr*>(&address), bytes)) << name;
  return made;
}

struct manager : ::testing::Test {
  void TearDown() override { unsetenv("NOTIFY_SOCKET"); }
  descriptor listening(const std::string& socket_path) {
    descriptor made = bound(SOCK_STREAM, socket_path);
    EXPECT_EQ(0, listen(made.get(), 8));
    return made;
  }
  static std::string told(const descriptor& socket) {
    pollfd one{socket.get(), POLLIN, 0};
    std::array<char, 256> text;
    if (poll(&one, 1, 10'000) != 1) return "nothing";
    const ssize_t got = recv(socket.get(), text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(got < 0 ? 0 : got)};
  }
  void expect_served(const std::string& socket_path) {
    client c;
    ASSERT_EQ(0, c.connect(socket_path));
    EXPECT_EQ(0, c.negotiate());
  }
  void expect_refusal(const std::vector<std::string>& arguments, const std::vector<int>& sockets,
                      const std::string& names, int code, const std::string& words) {
    served_program one;
    one.start_by_manager(arguments, sockets, names);
    EXPECT_EQ(code, one.wait());
    EXPECT_NE(std::string::npos, one.said().find(words)) << one.said();
  }

  folder files;
  std::string path = files.path("device"), control = files.path("control");
  served_program server;
};

TEST_F(manager, it_is_told_that_the_server_is_ready_and_that_it_stops) {
  for (const std::string& name : {files.path("notify"), "@" + files.path("notify")}) {
    const descriptor socket = bound(SOCK_DGRAM, name);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    server.start({"--socket", path});
    EXPECT_EQ("READY=1", told(socket));
    expect_served(path);
    EXPECT_EQ(0, server.stop()) << server.said();
    EXPECT_EQ("STOPPING=1", told(socket));
  }
}

TEST_F(manager, one_that_is_not_there_does_no_harm) {
  for (const std::string& name : {files.path("nobody"), std::string(200, 'x')}) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    server.start({"--socket", path});
    expect_served(path);
    EXPECT_EQ(0, server.stop());
    EXPECT_NE(std::string::npos, server.said().find("NOTIFY_SOCKET"));
  }
}

TEST_F(manager, a_socket_that_is_handed_over) {
  const descriptor socket = listening(path);
  client early;
  ASSERT_EQ(0, early.connect(path)) << "before there is a server";
  server.start_by_manager({}, {socket.get()}, "");
  EXPECT_EQ(0, early.negotiate());
  EXPECT_EQ(0, server.stop()) << server.said();
  EXPECT_EQ(0, access(path.c_str(), F_OK)) << "it is the manager's";
}

TEST_F(manager, both_sockets_in_either_order) {
  const descriptor device = listening(path), asked = listening(control);
  for (const bool control_first : {false, true}) {
    server.start_by_manager({},
                            control_first ? std::vector{asked.get(), device.get()}
                                          : std::vector{device.get(), asked.get()},
                            control_first ? "control:device" : "device:control");
    expect_served(path);
    EXPECT_TRUE(control_caller(control).ask("{\"request\":\"state\"}").value("ok", false));
    EXPECT_EQ(0, server.stop()) << server.said();
  }
}

TEST_F(manager, a_control_socket_that_is_handed_over_alone) {
  const descriptor asked = listening(control);
  server.start_by_manager({"--socket", path}, {asked.get()}, "control");
  expect_served(path);
  EXPECT_TRUE(control_caller(control).ask("{\"request\":\"state\"}").value("ok", false));
  EXPECT_EQ(0, server.stop());
}

TEST_F(manager, what_cannot_be_served) {
  const descriptor one = listening(path), other = listening(files.path("other"));
  const descriptor datagrams = bound(SOCK_DGRAM, files.path("datagrams"));
  const descriptor silent = bound(SOCK_STREAM, files.path("silent"));
  expect_refusal({}, {one.get(), other.get()}, "", 1, "LISTEN_FDS=2");
  expect_refusal({}, {datagrams.get()}, "", 1, "descriptor 3 is no unix stream socket");
  expect_refusal({}, {silent.get()}, "", 1, "descriptor 3 is no unix stream socket");
  expect_refusal({"--socket", files.path("third")}, {one.get()}, "", 2, "handed over already");
}

TEST_F(manager, sockets_of_another_process_are_left_alone) {
  setenv("LISTEN_PID", "1", 1);
  setenv("LISTEN_FDS", "1", 1);
  server.start({"--socket", path});
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  expect_served(path);
  EXPECT_EQ(0, server.stop());
}

}  // namespace
}  // namespace freehca::vfio_user
