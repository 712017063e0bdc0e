// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <freehca/wires/frame_wire.hpp>

#include "user_network.hpp"

namespace freehca::wires {
namespace {

class user_wire final : public frame_wire {
 public:
  user_wire(wires::descriptor frames, pid_t process)
      : frame_wire(std::move(frames)), process_(process) {}
  user_wire(const user_wire&) = delete;
  user_wire& operator=(const user_wire&) = delete;
  ~user_wire() override {
    // SIGKILL, because the process has nothing to save and may be blocked in a file system that
    // does not answer.
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  void add_permissions(closed_process::permissions& to) const override {
    to.children.push_back(process_);
  }

 private:
  ssize_t write_frame(const std::byte* from, std::size_t bytes) override {
    return ::send(descriptor(), from, bytes, MSG_NOSIGNAL);
  }
  pid_t process_;
};

// The process closes all of the server's descriptors except its own end. Otherwise a socket that
// the server listens on would stay open after the server was killed.
[[noreturn]] void be_the_network(int socket, const user_network_options& how) {
  prctl(PR_SET_NAME, "user-network");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignore the terminal's signals: when the server ends, this process ends too.
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  constexpr int kept = 3;
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
      dup2(socket, kept) < 0)
    _exit(EXIT_FAILURE);
  close_range(kept + 1, ~0u, 0);
  serve_user_network(kept, how);
}

}  // namespace

std::unique_ptr<wire> frame_wire::user(const std::string& options, closed_process::mode closed,
                                       std::string& why) {
  user_network_options how;
  how.closed = closed;
  why = read_options(options, how);
  if (!why.empty()) {
    why = fmt::format("user: {}", why);
    return nullptr;
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    why = fmt::format("user: {}", std::strerror(errno));
    return nullptr;
  }
  wires::descriptor ours(ends[0]), theirs(ends[1]);
  const pid_t process = fork();
  if (process == 0) be_the_network(theirs.get(), how);
  if (process < 0) {
    why = fmt::format("user: {}", std::strerror(errno));
    return nullptr;
  }
  theirs.close();
  std::array<char, 512> said{};
  const ssize_t got = recv(ours.get(), said.data(), said.size() - 1, 0);
  fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  auto made = std::make_unique<user_wire>(std::move(ours), process);
  if (got > 0 && std::strcmp(said.data(), user_network_ready) == 0) return made;
  why = fmt::format("user: {}", got > 0 ? said.data() : "its process ended");
  return nullptr;
}

}  // namespace freehca::wires
