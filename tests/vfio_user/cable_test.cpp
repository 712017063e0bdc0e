// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two servers on one cable, each with a driver: the link comes up, and goes when one end does.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

// A server, and what is asked of the driver at it.
struct end {
  explicit end(const std::string& name) : socket(files.path(name)) {}
  ~end() { let_go(); }

  void start(const std::string& port, const std::string& guid,
             const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--socket", socket, "--port1", port, "--guid", guid};
    all.insert(all.end(), more.begin(), more.end());
    server.start(all);
  }
  std::string hcactl(const std::string& arguments) const {
    return std::string(HCACTL) + " --vfio-user " + socket + " " + arguments;
  }
  // The driver holds the adapter up until it is let go.
  void hold() {
    const std::string shell = "sh", option = "-c", command = "exec " + hcactl("up --hold");
    char* words[] = {const_cast<char*>(shell.c_str()), const_cast<char*>(option.c_str()),
                     const_cast<char*>(command.c_str()), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, files.path("held").c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_EQ(0, posix_spawnp(&holder, "sh", &actions, nullptr, words, environ));
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 20000; ++i) {
      std::ifstream file(files.path("held"));
      const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      if (all.find("held ") != std::string::npos) return;
      usleep(1000);
    }
    ADD_FAILURE() << "it is not held up";
  }
  void let_go() {
    if (holder < 0) return;
    kill(holder, SIGTERM);
    waitpid(holder, nullptr, 0);
    holder = -1;
  }
  folder files;
  std::string socket;
  served_program server;
  pid_t holder = -1;
};

// Operations of link packets. Without a subnet manager a link that is up goes on beginning flow
// control.
constexpr unsigned no_signal = 0xf, training = 0xd, up = 1;
constexpr std::size_t link_packet_bytes = 6;

// Lies between two servers, which both listen, and looks at what goes over.
class relay {
 public:
  bool connect(const std::string& one, const std::string& other) {
    return sides_[0].connect(one) && sides_[1].connect(other);
  }
  // Carries on until both ends have sent such a link packet since the last time. False: they do
  // not.
  bool until(unsigned first, unsigned second) {
    sides_[0].said = sides_[1].said = 0;
    for (int i = 0; i < 20000; ++i) {
      for (unsigned from : {0u, 1u}) sides_[from].pass(sides_[1 - from]);
      if ((sides_[0].said >> first & 1) != 0 && (sides_[1].said >> second & 1) != 0) return true;
      usleep(500);
    }
    return false;
  }

 private:
  struct side {
    bool connect(const std::string& path) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strcpy(address.sun_path, path.c_str());
      socket = descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
             0;
    }
    void pass(const side& to) {
      std::array<char, 65536> piece;
      const ssize_t n = recv(socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (n <= 0) return;
      ASSERT_EQ(n,
                ::send(to.socket.get(), piece.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL));
      rest.append(piece.data(), static_cast<std::size_t>(n));
      while (rest.size() >= 4) {
        std::size_t bytes = 0;
        for (unsigned i = 0; i < 4; ++i) bytes = bytes << 8 | static_cast<unsigned char>(rest[i]);
        if (rest.size() < 4 + bytes) return;
        if (bytes == link_packet_bytes) said |= 1u << (static_cast<unsigned char>(rest[4]) >> 4);
        rest.erase(0, 4 + bytes);
      }
    }
    descriptor socket;
    std::string rest;
    std::uint32_t said = 0;  // a bit for each operation
  };
  std::array<side, 2> sides_;
};

TEST(cable, the_ports_of_two_servers_train_and_lose_the_link_when_one_closes) {
  folder files;
  const std::string one = files.path("one"), other = files.path("other");
  end a("a"), b("b");
  a.start("stream:listen=" + one, "0002:c903:00f0:ca00", {"--capture1", files.path("packets")});
  b.start("stream:listen=" + other, "0002:c903:00f0:cb00");
  relay between;
  ASSERT_TRUE(between.connect(one, other));
  a.hold();
  b.hold();
  EXPECT_TRUE(between.until(up, up)) << "the link is not up";
  b.let_go();
  EXPECT_TRUE(between.until(training, no_signal)) << "the link is not down";
  a.let_go();
  b.let_go();
  for (end* each : {&a, &b}) {
    EXPECT_EQ(0, each->server.stop());
    EXPECT_EQ(std::string::npos, each->server.said().find("complaint")) << each->server.said();
  }
  std::ifstream packets(files.path("packets"), std::ios::binary);
  char magic[4] = {};
  packets.read(magic, sizeof magic);
  EXPECT_EQ(0, std::memcmp(magic, "\x4d\x3c\xb2\xa1", 4)) << "pcap with nanoseconds";
}

}  // namespace
}  // namespace freehca::vfio_user
