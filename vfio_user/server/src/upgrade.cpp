// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "upgrade.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "hand_over.hpp"

namespace freehca::device_server {

using keeper::record;
using vfio_user::channel;
using vfio_user::descriptor;

namespace {

constexpr int failed_start = 127;

// SIGTERM and SIGINT stay blocked until the server asks for them.
[[noreturn]] void be_the_program(const started_as& as, descriptor end) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  fcntl(end.get(), F_SETFD, 0);
  std::vector<std::string> words{as.program};
  words.insert(words.end(), as.arguments.begin(), as.arguments.end());
  words.insert(words.end(), {"--taken-over", std::to_string(end.get())});
  std::vector<char*> pointers;
  for (std::string& one : words) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  execv(as.program.c_str(), pointers.data());
  const std::string why = fmt::format("{}: {}", as.program, std::strerror(errno));
  channel(std::move(end)).send(keeper::record_head(record::refused), std::as_bytes(std::span(why)));
  _exit(failed_start);
}

}  // namespace

bool upgrade::send(record what, const std::vector<int>& files, std::span<const std::byte> body) {
  return link_.send(keeper::record_head(what), body, {}, files);
}

bool upgrade::send(const offer& what) {
  const hand_over_version version{hand_over_version::present, what.starts,
                                  sizeof(keeper::shared_state)};
  const auto own = static_cast<std::byte>(what.sockets.own_control);
  std::vector<int> sockets{what.sockets.device.get()};
  if (what.sockets.control.open()) sockets.push_back(what.sockets.control.get());
  bool sent =
      send(record::shared_memory, {what.shared_memory.get()}, vfio_user::bytes_of(version)) &&
      send(record::sockets, sockets, {&own, 1});
  if (sent && what.client.there()) {
    sent = send(record::client_came, {what.client.connection().get()}, {});
    if (sent && what.client.doorbell_pages().open())
      sent = send(record::doorbell_pages, {what.client.doorbell_pages().get()}, {});
    what.client.tell_again([&](vfio_user::message repeated) {
      std::vector<int> files;
      for (const descriptor& one : repeated.descriptors) files.push_back(one.get());
      sent = sent && link_.send(repeated.head, repeated.body, {}, files);
    });
  }
  if (sent && what.state != nullptr) {
    std::vector<int> files;
    for (const descriptor& one : what.state->descriptors) files.push_back(one.get());
    sent = send(record::state, files, {});
  }
  return sent && send(record::end_of_hand_over, {}, {});
}

std::string upgrade::begin(const started_as& program, const offer& what, std::uint64_t now) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return std::strerror(errno);
  descriptor mine(ends[0]), its(ends[1]);
  const pid_t process = fork();
  if (process == 0) {
    mine.close();
    be_the_program(program, std::move(its));
  }
  if (process < 0) return std::strerror(errno);
  its.close();
  process_ = process;
  link_ = channel(std::move(mine));
  deadline_ = now + patience_ns;
  if (send(what)) return "";
  return reason_of_end();
}

// A process that refuses says so before it ends. Other processes just end.
std::string upgrade::reason_of_end() {
  std::string why;
  vfio_user::message one;
  while (link_.receive(one) == vfio_user::arrival::message)
    if (static_cast<record>(one.head.command) == record::refused) why = keeper::record_text(one);
  if (why.empty()) why = exit_text();
  give_up();
  return why;
}

// The process closes its link at its end, a moment before it can be waited for.
std::string upgrade::exit_text() {
  constexpr timespec moment{0, 1'000'000};
  constexpr unsigned most_moments = 1000;
  for (unsigned i = 0; i < most_moments; ++i) {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) != process_) {
      nanosleep(&moment, nullptr);
      continue;
    }
    process_ = -1;
    return WIFSIGNALED(status)
               ? fmt::format("its program was ended by signal {}", WTERMSIG(status))
               : fmt::format(
                     "its program ended with exit code {}; the server's stderr has its "
                     "messages",
                     WEXITSTATUS(status));
  }
  return "its program does not take over";
}

void upgrade::give_up() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  process_ = -1;
  link_.close();
}

upgrade::outcome upgrade::work(std::uint64_t now, std::string& text) {
  vfio_user::message one;
  vfio_user::arrival what;
  while ((what = link_.receive(one)) == vfio_user::arrival::message) {
    const auto kind = static_cast<record>(one.head.command);
    if (kind == record::loaded) {
      text = keeper::record_text(one);
      return outcome::loaded;
    }
    if (kind == record::refused) {
      text = keeper::record_text(one);
      give_up();
      return outcome::ended;
    }
  }
  if (what == vfio_user::arrival::nothing && now < deadline_) return outcome::none;
  text = what == vfio_user::arrival::nothing ? "it has not taken over in time" : exit_text();
  give_up();
  return outcome::ended;
}

}  // namespace freehca::device_server
