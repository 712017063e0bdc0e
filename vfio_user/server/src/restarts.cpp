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
#include <freehca/keeper/request_deaths.hpp>
#include <freehca/keeper/shared_state.hpp>

#include "report.hpp"
#include "server.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {
namespace {

using vfio_user::channel;
using vfio_user::descriptor;

/// The life of a process begins when it serves. The time for mapping the client's memory again does
/// not count. A life is short if it is shorter than short_life_ns, or if it did not begin. After a
/// short life the next process starts after a pause, which grows each time. After
/// most_lives_of_client short lives in a row the client is disconnected, because it may be the
/// cause. After most_short_lives the program ends.
constexpr std::uint64_t short_life_ns = 100'000'000, pause_ns = 200'000'000;
constexpr unsigned most_lives_of_client = 4, most_short_lives = 5;
/// The pause between two looks at a process that takes over, and the time in which the process that
/// has handed over ends.
constexpr int upgrade_pause_ms = 100;
constexpr std::uint64_t end_patience_ns = 5'000'000'000;
constexpr std::uint64_t same_signal_ns = 100'000'000;

std::string end_of(int status) {
  return WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                                           strsignal(WTERMSIG(status)))
                             : fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

template <class... Values>
void report_text(fmt::format_string<const Values&...> text, const Values&... values) {
  without_exceptions([&] { report(fmt::format(text, values...)); });
}

class client_keeper {
 public:
  client_keeper(settings& how, passed_sockets passed, started_as as)
      : how_(how), sockets_(std::move(passed)), program_(std::move(as)) {
    sockets_.own_control = !sockets_.control.open() && !how_.control.empty();
  }

  /// Runs the keeper. Returns the exit code.
  int run();

 private:
  std::string begin();
  std::string start();
  std::string start_program();
  /// Returns "", or a message if no process will ever start.
  std::string start_failed(int why);
  void begins(pid_t process, channel link);
  [[noreturn]] void be_the_adapter(descriptor link);
  void wait_for_something();
  void take_records();
  void take_signals();
  // A process of a new build takes over.
  void start_upgrade(const vfio_user::message& state);
  void refuse_upgrade(const std::string& why);
  void work_on_upgrade();
  void finish_upgrade();
  /// Whether the adapter's process has ended.
  bool has_ended();
  /// Whether another process shall replace it.
  bool goes_on();
  /// Decides, before the next process starts, whether it continues with the client.
  void judge_client();
  /// Reports how the last process ended and what happens next.
  void report_end(const char* what_follows) const {
    without_exceptions([&] {
      report(fmt::format("the adapter's process {}: {}", end_of(status_), what_follows));
    });
  }
  int end();
  /// The exit code of an end that was asked for, with --save-on.
  int end_of_saving() const;

  settings& how_;
  passed_sockets sockets_;
  keeper::kept_client client_;
  keeper::shared_state* state_ = nullptr;
  descriptor state_file_;  ///< of that memory
  descriptor signals_;
  channel link_;        ///< to the adapter's process
  pid_t process_ = -1;  ///< below 0: no process
  int status_ = 0;      ///< wait status of the last process
  unsigned starts_ = 0, short_lives_ = 0;
  std::uint64_t serving_since_ = 0, next_start_ = 0, asked_ = 0;
  started_as program_;
  /// Processes are started from the program file, because a new build has taken over.
  bool is_upgraded_ = false;
  upgrade next_;
  std::uint64_t end_awaited_ = 0;  ///< not 0: `next_` has the state, and the other process ends
  std::string next_version_;
  bool serving_ = false;    ///< this process serves
  bool was_ready_ = false;  ///< this process or an earlier one has reported ready
  keeper::request_deaths deaths_;
  bool asked_to_end_ = false;
  bool ended_itself_ = false;  ///< the last process ended after it was asked to
  service_manager manager_;
};

sigset_t signals_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

std::string client_keeper::begin() {
  manager_.find();
  state_ = keeper::make_shared_state(&state_file_);
  // The parent may have set SIGCHLD to be ignored. Then the end of a child would not be reported.
  signal(SIGCHLD, SIG_DFL);
  const sigset_t set = signals_of({SIGTERM, SIGINT, SIGCHLD});
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  return state_ != nullptr && signals_.open() ? "" : std::strerror(errno);
}

std::string client_keeper::start_failed(int why) {
  if (!was_ready_ || (why != EAGAIN && why != ENOMEM)) return std::strerror(why);
  next_start_ = now_ns() + pause_ns;
  return "";
}

void client_keeper::begins(pid_t process, channel link) {
  process_ = process;
  link_ = std::move(link);
  ++starts_;
  serving_ = false;
  state_->keeper_is_behind = false;
  deaths_.begin(*state_);
}

// A program file that cannot be started, or does not take what it is given, is as a process that
// dies at once.
std::string client_keeper::start_program() {
  const std::string why =
      next_.begin(program_, {state_file_, starts_ + 1, sockets_, client_, nullptr}, now_ns());
  if (why.empty()) {
    const pid_t process = next_.take_process();
    begins(process, next_.take_link());
    return "";
  }
  if (++short_lives_ >= most_short_lives) return why;
  report_text("{}", why);
  next_start_ = now_ns() + short_lives_ * pause_ns;
  return "";
}

std::string client_keeper::start() {
  if (is_upgraded_) return start_program();
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return std::strerror(errno);
  descriptor mine(ends[0]), its(ends[1]);
  const pid_t process = fork();
  if (process < 0) return start_failed(errno);
  // Close the keeper's end. Otherwise this process would not notice that the keeper is gone.
  if (process == 0) mine.close();
  begins(process, channel(std::move(mine)));
  if (process == 0) {
    state_file_.close();
    be_the_adapter(std::move(its));
  }
  return "";
}

void client_keeper::be_the_adapter(descriptor link) {
  signals_.close();
  // SIGTERM and SIGINT stay blocked until the server asks for them.
  const sigset_t set = signals_of({SIGCHLD});
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  prepare_next_start(how_, starts_);
  int code = 0;
  {
    server all(how_, std::move(manager_), keeper_side(std::move(link), state_));
    if (const std::string why = all.begin(std::move(sockets_)); !why.empty()) {
      report(why);
      code = all.failure();
    } else {
      if (client_.there()) all.resume(client_);
      // Close the inherited copies of the client's descriptors. They would outlive the client.
      client_.forget();
      code = all.run();
      // Destructors would remove paths, and would tell the other ends of the cables.
      if (all.handed_over()) {
        std::fflush(nullptr);
        _exit(0);
      }
    }
  }
  std::fflush(nullptr);
  _exit(code);
}

void client_keeper::wait_for_something() {
  std::array<pollfd, 3> watched{{{signals_.get(), POLLIN, 0},
                                 {link_.open() ? link_.socket() : -1, POLLIN, 0},
                                 {next_.under_way() ? next_.socket() : -1, POLLIN, 0}}};
  const std::uint64_t now = now_ns();
  const std::uint64_t left = process_ < 0 && next_start_ > now ? next_start_ - now : 0;
  const int pause = next_.under_way() ? upgrade_pause_ms
                    : process_ < 0    ? static_cast<int>((left + 999'999) / 1'000'000)
                                      : -1;
  poll(watched.data(), watched.size(), pause);
  if (watched[1].revents != 0) take_records();
  if ((watched[1].revents & POLLHUP) != 0) link_.close();
  take_signals();
}

void client_keeper::take_records() {
  vfio_user::message one;
  while (link_.receive(one) == vfio_user::arrival::message) {
    if (one.no_memory) client_.lose_something();
    const auto what = static_cast<keeper::record>(one.head.command);
    if (what == keeper::record::client_came || what == keeper::record::client_gone)
      deaths_.forget();
    if (what == keeper::record::serving) {
      serving_ = true;
      serving_since_ = now_ns();
    }
    if (what == keeper::record::state) {
      start_upgrade(one);
      continue;
    }
    if (what != keeper::record::ready) {
      if (!without_exceptions([&] { client_.take(std::move(one)); })) client_.lose_something();
      continue;
    }
    if (!std::exchange(was_ready_, true)) manager_.tell("READY=1");
    if (!one.descriptors.empty()) sockets_.device = std::move(one.descriptors[0]);
    if (one.descriptors.size() > 1) sockets_.control = std::move(one.descriptors[1]);
  }
  // Close the connection here too, so that the client notices when the adapter's process closes it.
  if (state_->keeper_is_behind) client_.forget();
}

// Ends the adapter's process. SIGCONT follows the signal, because a stopped process handles no
// other signal. The second request kills the process. A signal to the whole process group arrives
// twice, so a second signal shortly after the first is ignored.
void client_keeper::take_signals() {
  signalfd_siginfo about{};
  while (read(signals_.get(), &about, sizeof about) == sizeof about) {
    if (about.ssi_signo == SIGCHLD) continue;
    const bool again = std::exchange(asked_to_end_, true);
    if (!again) manager_.tell("STOPPING=1");
    if (!again) asked_ = now_ns();
    if (process_ < 0 || (again && now_ns() - asked_ < same_signal_ns)) continue;
    kill(process_, again ? SIGKILL : SIGTERM);
    kill(process_, SIGCONT);
  }
}

void client_keeper::start_upgrade(const vfio_user::message& state) {
  std::string why;
  if (next_.under_way() || state.descriptors.empty()) why = "the state did not arrive";
  else if (client_.there() && !client_.complete())
    why = "the client has more files than the keeper keeps";
  else why = next_.begin(program_, {state_file_, starts_ + 1, sockets_, client_, &state}, now_ns());
  if (!why.empty()) refuse_upgrade(why);
}

void client_keeper::refuse_upgrade(const std::string& why) {
  report_text("the new build does not take over: {}", why);
  link_.send(keeper::record_head(keeper::record::refused), std::as_bytes(std::span(why)));
}

// The process that hands over waits for an answer and touches nothing. If it dies meanwhile, the
// new build continues with its state all the more.
void client_keeper::work_on_upgrade() {
  if (end_awaited_ == 0) {
    std::string text;
    auto outcome = next_.work(now_ns(), text);
    if (asked_to_end_ && outcome != upgrade::outcome::ended) {
      next_.give_up();
      outcome = upgrade::outcome::ended;
      text = "the server was asked to end";
    }
    if (outcome == upgrade::outcome::ended) refuse_upgrade(text);
    if (outcome != upgrade::outcome::loaded) return;
    next_version_ = text;
    link_.send(keeper::record_head(keeper::record::handed_over), std::as_bytes(std::span(text)));
    end_awaited_ = now_ns() + end_patience_ns;
  }
  // The process may have been waited for already, if its last record was the state.
  if (process_ < 0 || waitpid(process_, &status_, WNOHANG) == process_) return finish_upgrade();
  if (now_ns() > end_awaited_) kill(process_, SIGKILL);
}

void client_keeper::finish_upgrade() {
  end_awaited_ = 0;
  is_upgraded_ = true;
  const pid_t process = next_.take_process();
  begins(process, next_.take_link());
  link_.send(keeper::record_head(keeper::record::serve));
  report_text("{} has taken over", next_version_);
  if (asked_to_end_) kill(process_, SIGTERM);
}

bool client_keeper::has_ended() {
  if (process_ < 0 || waitpid(process_, &status_, WNOHANG) != process_) return false;
  process_ = -1;
  ended_itself_ = asked_to_end_;
  // Take the reports that arrived after the last call.
  take_records();
  if (state_->request.is_answered()) state_->request_done();
  return true;
}

void client_keeper::judge_client() {
  using keeper::request_deaths;
  state_->refuse_request = false;
  if (!client_.there()) return;
  const auto verdict = deaths_.end(*state_);
  const char* why = nullptr;
  if (!client_.can_go_on())
    why = "its memory is reached by messages or has too many files, or what it told is lost";
  else if (verdict == request_deaths::verdict::hang_up)
    why = "a process died again of the same request";
  else if (short_lives_ >= most_lives_of_client) why = "processes die as soon as they serve it";
  if (why != nullptr) {
    report_text("the client cannot be kept, and is hung up on: {}", why);
    client_.forget();
    deaths_.forget();
  } else if (verdict == request_deaths::verdict::refuse) {
    report_text("{} processes died of the same request, command {}: it is refused",
                request_deaths::most_deaths, deaths_.command());
    state_->refuse_request = true;
  }
}

bool client_keeper::goes_on() {
  if (asked_to_end_) return false;
  const bool short_life = !serving_ || now_ns() - serving_since_ < short_life_ns;
  short_lives_ = short_life ? short_lives_ + 1 : 0;
  if (!was_ready_) {
    if (WIFSIGNALED(status_)) report_end("it has never been ready");
    return false;
  }
  if (short_lives_ == most_short_lives) {
    report_end("as did those before it, each at once: given up");
    return false;
  }
  report_end("another takes its place");
  judge_client();
  next_start_ = now_ns() + short_lives_ * pause_ns;
  return true;
}

int client_keeper::end_of_saving() const {
  if (!ended_itself_) {
    report_text("--save-on TERM {}: no state is saved: no process had an adapter", how_.save);
    return 1;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 1;
}

int client_keeper::end() {
  if (was_ready_) {
    if (!how_.socket.empty()) unlink(how_.socket.c_str());
    if (sockets_.own_control) unlink(how_.control.c_str());
  }
  if (asked_to_end_) return how_.save.empty() ? 0 : end_of_saving();
  return WIFEXITED(status_) && WEXITSTATUS(status_) != 0 ? WEXITSTATUS(status_) : 1;
}

int client_keeper::run() {
  std::string why = begin();
  if (why.empty()) why = start();
  while (why.empty()) {
    wait_for_something();
    if (next_.under_way()) work_on_upgrade();
    if (next_.under_way()) continue;
    if (process_ < 0 && asked_to_end_) return end();
    if (has_ended() && !goes_on()) return end();
    if (process_ < 0 && now_ns() >= next_start_) why = start();
  }
  report(was_ready_ ? fmt::format("no other process can take its place: {}", why) : why);
  return end();
}

}  // namespace

int serve(settings& how, passed_sockets passed) {
  service_manager manager;
  manager.find();
  server all(how, std::move(manager));
  if (const std::string why = all.begin(std::move(passed)); !why.empty()) {
    report(why);
    return all.failure();
  }
  return all.run();
}

int serve_with_restarts(settings& how, passed_sockets passed, started_as as) {
  return client_keeper(how, std::move(passed), std::move(as)).run();
}

// Files of later processes have other names, so that the files of the first one are kept.
void prepare_next_start(settings& how, unsigned start) {
  if (start == 1) return;
  how.load.clear();
  for (std::string* name : {&how.capture[0], &how.capture[1], &how.recording})
    if (!name->empty()) *name += fmt::format(".{}", start);
}

}  // namespace freehca::device_server
