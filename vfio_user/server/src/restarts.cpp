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
#include <initializer_list>
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

/// A process that lives no longer, or was never ready, has done nothing. So many of them, one after
/// another, are enough; each waits for longer than the one before it.
constexpr std::uint64_t short_life_ns = 100'000'000, pause_ns = 200'000'000;
constexpr unsigned most_short_lives = 5;
constexpr std::uint64_t same_signal_ns = 100'000'000;

std::string end_of(int status) {
  return WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                                           strsignal(WTERMSIG(status)))
                             : fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

class client_keeper {
 public:
  client_keeper(settings& how, passed_sockets passed) : how_(how), sockets_(std::move(passed)) {
    sockets_.own_control = !sockets_.control.open() && !how_.control.empty();
  }

  /// The exit code.
  int run();

 private:
  std::string begin();
  std::string start();
  [[noreturn]] void be_the_adapter(descriptor link);
  void wait_for_something();
  void take_records();
  void take_signals();
  /// Whether the adapter's process has ended.
  bool has_ended();
  /// Whether another one shall take its place.
  bool goes_on();
  int end();

  settings& how_;
  passed_sockets sockets_;
  keeper::kept_client client_;
  keeper::shared_state* state_ = nullptr;
  descriptor signals_;
  channel link_;        ///< to the adapter's process
  pid_t process_ = -1;  ///< below 0: none, until the next one starts
  int status_ = 0;      ///< how the last one ended
  unsigned starts_ = 0, short_lives_ = 0;
  std::uint64_t started_ = 0, next_start_ = 0, asked_ = 0;
  bool ready_ = false, was_ready_ = false;  ///< this one, and any
  bool asked_to_end_ = false;
};

sigset_t signals_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

std::string client_keeper::begin() {
  state_ = keeper::make_shared_state();
  // Else, where whoever started this program ignores it, no end of a child is told.
  signal(SIGCHLD, SIG_DFL);
  const sigset_t set = signals_of({SIGTERM, SIGINT, SIGCHLD});
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
  ready_ = false;
  state_->keeper_is_behind = false;
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
  // SIGTERM and SIGINT stay blocked until the server asks for them.
  const sigset_t set = signals_of({SIGCHLD});
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
      // What is kept of it here is the keeper's: it would outlive the client.
      client_.forget();
      all.run();
    }
  }
  std::fflush(nullptr);
  _exit(code);
}

void client_keeper::wait_for_something() {
  std::array<pollfd, 2> watched{
      {{signals_.get(), POLLIN, 0}, {link_.open() ? link_.socket() : -1, POLLIN, 0}}};
  const std::uint64_t now = now_ns();
  const std::uint64_t left = process_ < 0 && next_start_ > now ? next_start_ - now : 0;
  const int pause = process_ < 0 ? static_cast<int>((left + 999'999) / 1'000'000) : -1;
  poll(watched.data(), watched.size(), pause);
  if (watched[1].revents != 0) take_records();
  if ((watched[1].revents & POLLHUP) != 0) link_.close();
  take_signals();
}

void client_keeper::take_records() {
  vfio_user::message one;
  while (link_.receive(one) == vfio_user::arrival::message) {
    if (one.head.command != static_cast<std::uint16_t>(keeper::record::ready)) {
      client_.take(std::move(one));
      continue;
    }
    ready_ = true;
    if (!std::exchange(was_ready_, true)) tell_manager("READY=1");
    if (!one.descriptors.empty()) sockets_.device = std::move(one.descriptors[0]);
    if (one.descriptors.size() > 1) sockets_.control = std::move(one.descriptors[1]);
  }
  // The connection, too: when the adapter's process hangs up, the client must see it.
  if (state_->keeper_is_behind) client_.forget();
}

// One that is stopped hears nothing before it goes on; one that does not listen is killed when it
// is asked for the second time. Who signals a whole group sends the first one twice.
void client_keeper::take_signals() {
  signalfd_siginfo about{};
  while (read(signals_.get(), &about, sizeof about) == sizeof about) {
    if (about.ssi_signo == SIGCHLD) continue;
    const bool again = std::exchange(asked_to_end_, true);
    if (!again) tell_manager("STOPPING=1");
    if (!again) asked_ = now_ns();
    if (process_ < 0 || (again && now_ns() - asked_ < same_signal_ns)) continue;
    kill(process_, again ? SIGKILL : SIGTERM);
    kill(process_, SIGCONT);
  }
}

bool client_keeper::has_ended() {
  if (process_ < 0 || waitpid(process_, &status_, WNOHANG) != process_) return false;
  process_ = -1;
  // What it told last may have come behind the last look.
  take_records();
  return true;
}

bool client_keeper::goes_on() {
  if (asked_to_end_) return false;
  const bool short_life = !ready_ || now_ns() - started_ < short_life_ns;
  short_lives_ = short_life ? short_lives_ + 1 : 0;
  if (!was_ready_) {
    if (WIFSIGNALED(status_)) report(fmt::format("the adapter's process {}", end_of(status_)));
    return false;
  }
  if (short_lives_ == most_short_lives) {
    report(fmt::format("the adapter's process {}, as did {} before it, each at once: given up",
                       end_of(status_), most_short_lives - 1));
    return false;
  }
  report(fmt::format("the adapter's process {}: another takes its place", end_of(status_)));
  if (client_.there() && !client_.can_go_on()) {
    report(
        "the client's memory is reached by messages, or has too many files: it cannot be kept, "
        "and is hung up on");
    client_.forget();
  }
  next_start_ = now_ns() + short_lives_ * pause_ns;
  return true;
}

int client_keeper::end() {
  if (was_ready_) {
    if (!how_.socket.empty()) unlink(how_.socket.c_str());
    if (sockets_.own_control) unlink(how_.control.c_str());
  }
  if (asked_to_end_) return 0;
  return WIFEXITED(status_) && WEXITSTATUS(status_) != 0 ? WEXITSTATUS(status_) : 1;
}

int client_keeper::run() {
  std::string why = begin();
  if (why.empty()) why = start();
  while (why.empty()) {
    wait_for_something();
    if (process_ < 0 && asked_to_end_) return end();
    if (has_ended() && !goes_on()) return end();
    if (process_ < 0 && now_ns() >= next_start_) why = start();
  }
  report(was_ready_ ? fmt::format("no other process can take its place: {}", why) : why);
  return end();
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
