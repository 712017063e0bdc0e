// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "restarts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <freehca/keeper/kept_client.hpp>
#include <freehca/keeper/shared_state.hpp>

#include "report.hpp"
#include "server.hpp"

namespace freehca::device_server {
namespace {

using vfio_user::channel;
using vfio_user::descriptor;

/// A process that lives no longer has done nothing; so many of them, one after another, are enough.
constexpr std::uint64_t short_life_ns = 100'000'000;
constexpr unsigned most_short_lives = 5;

class client_keeper {
 public:
  client_keeper(settings& how, passed_sockets passed) : how_(how), sockets_(std::move(passed)) {}

  int run();

 private:
  std::string begin();
  std::string start();
  [[noreturn]] void be_the_adapter(descriptor link);
  void take_records();
  void take_signal();
  /// Whether the adapter's process has ended.
  bool has_ended(int& status);
  /// Whether another one shall take its place.
  bool goes_on(int status);
  int end(int status);

  settings& how_;
  passed_sockets sockets_;
  keeper::kept_client client_;
  keeper::shared_state* state_ = nullptr;
  descriptor signals_;
  channel link_;  ///< to the adapter's process
  pid_t process_ = -1;
  unsigned starts_ = 0, short_lives_ = 0;
  std::uint64_t started_ = 0;
  bool ready_ = false, asked_to_end_ = false;
};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&set, number);
  return set;
}

std::string client_keeper::begin() {
  state_ = keeper::make_shared_state();
  const sigset_t set = watched_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  return state_ != nullptr && signals_.open() ? "" : std::strerror(errno);
}

std::string client_keeper::start() {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return std::strerror(errno);
  descriptor mine(ends[0]), its(ends[1]);
  ++starts_;
  started_ = now_ns();
  process_ = fork();
  if (process_ == 0) {
    // Else this process would hold the keeper's end open, and never hear that the keeper is gone.
    mine.close();
    link_.close();
    be_the_adapter(std::move(its));
  }
  if (process_ < 0) return std::strerror(errno);
  link_ = channel(std::move(mine));
  return "";
}

// Files that the first process wrote stay as they are.
void number_files(settings& how, unsigned start) {
  for (std::string* name : {&how.capture[0], &how.capture[1], &how.recording})
    if (!name->empty()) *name += fmt::format(".{}", start);
}

void client_keeper::be_the_adapter(descriptor link) {
  signals_.close();
  const sigset_t set = watched_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  if (starts_ > 1) number_files(how_, starts_);
  int code = 0;
  {
    server all(how_, keeper_side(std::move(link), state_));
    if (const std::string why = all.begin(std::move(sockets_)); !why.empty()) {
      report(why);
      code = 1;
    } else {
      if (client_.there()) all.resume(client_);
      all.run();
    }
  }
  std::fflush(nullptr);
  _exit(code);
}

void client_keeper::take_records() {
  vfio_user::message one;
  while (link_.receive(one) == vfio_user::arrival::message) {
    if (one.head.command != static_cast<std::uint16_t>(keeper::record::ready)) {
      client_.take(std::move(one));
      continue;
    }
    if (!std::exchange(ready_, true)) tell_manager("READY=1");
    if (!one.descriptors.empty()) sockets_.device = std::move(one.descriptors[0]);
    if (one.descriptors.size() > 1) sockets_.control = std::move(one.descriptors[1]);
  }
}

void client_keeper::take_signal() {
  signalfd_siginfo about{};
  while (read(signals_.get(), &about, sizeof about) == sizeof about) {
    if (about.ssi_signo == SIGCHLD) continue;
    if (!std::exchange(asked_to_end_, true)) tell_manager("STOPPING=1");
    kill(process_, SIGTERM);
  }
}

bool client_keeper::has_ended(int& status) {
  return waitpid(process_, &status, WNOHANG) == process_;
}

bool client_keeper::goes_on(int status) {
  if (asked_to_end_ || !ready_) return false;
  short_lives_ = now_ns() - started_ < short_life_ns ? short_lives_ + 1 : 0;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                                            strsignal(WTERMSIG(status)))
                              : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  if (short_lives_ == most_short_lives) {
    report(fmt::format("the adapter's process {}, as did {} before it, each at once: given up", how,
                       most_short_lives - 1));
    return false;
  }
  report(fmt::format("the adapter's process {}: another takes its place", how));
  if (client_.there() && !client_.can_go_on()) {
    report("the client's memory is reached by messages: it cannot be kept, and is hung up on");
    client_.forget();
  }
  return true;
}

int client_keeper::end(int status) {
  if (ready_ && starts_ > 1)
    for (const std::string* path : {&how_.socket, &how_.control})
      if (!path->empty()) unlink(path->c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int client_keeper::run() {
  std::string why = begin();
  if (why.empty()) why = start();
  while (why.empty()) {
    std::array<pollfd, 2> watched{
        {{signals_.get(), POLLIN, 0}, {link_.open() ? link_.socket() : -1, POLLIN, 0}}};
    poll(watched.data(), watched.size(), -1);
    if (watched[1].revents != 0) take_records();
    if ((watched[1].revents & POLLHUP) != 0) link_.close();
    take_signal();
    int status = 0;
    if (!has_ended(status)) continue;
    // What it told last may have come behind the first look.
    take_records();
    if (!goes_on(status)) return end(status);
    why = start();
  }
  report(why);
  return 1;
}

}  // namespace

int serve(settings& how, passed_sockets passed) {
  server all(how);
  if (const std::string why = all.begin(std::move(passed)); !why.empty()) {
    report(why);
    return 1;
  }
  all.run();
  return 0;
}

int serve_with_restarts(settings& how, passed_sockets passed) {
  return client_keeper(how, std::move(passed)).run();
}

}  // namespace freehca::device_server
