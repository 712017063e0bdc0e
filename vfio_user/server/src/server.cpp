// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "server.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <freehca/wires/socket_address.hpp>

#include "command_line.hpp"
#include "guarded_copy.hpp"
#include "notify.hpp"
#include "report.hpp"
#include "saved_adapter.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {

using namespace vfio_user;
using namespace wires;

server::server(settings& how, service_manager manager, keeper_side keeper)
    : how_(how),
      manager_(std::move(manager)),
      keeper_(std::move(keeper)),
      function_(how, memory_),
      rest_(how.poll_ns) {
  session_.connect(function_, memory_, keeper_);
}

// If there is a keeper, the paths stay: the next process needs the sockets, and the keeper removes
// them at the end.
server::~server() {
  if (told_ready_ && keeper_.lives()) control_.leave_path();
  else if (bound_) unlink(how_.socket.c_str());
}

std::string server::begin(passed_sockets passed) {
  std::vector<std::byte> state;
  if (!how_.load.empty())
    if (const std::string why = read_state_file(how_.load, state); !why.empty())
      return fmt::format("--load {}", why);
  if (std::string why = prepare(std::move(passed), nullptr); !why.empty()) return why;
  if (!how_.load.empty())
    if (std::string why = load(state); !why.empty()) return why;
  tell_that_it_is_ready();
  return "";
}

std::string server::prepare(passed_sockets passed, handed_wires* wires) {
  guard_copies();
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  stop_ = descriptor(signalfd(-1, &ends, SFD_CLOEXEC));
  if (!stop_.open()) return std::strerror(errno);
  // Reserve memory for the fixed places, both cables and the clients, so that these lists need no
  // allocation later.
  refused_.reserve(most_refused);
  watched_.reserve(cable_place + 2 + most_refused + 1 + control_socket::most_clients);
  // Without this the system adds 50 us to each pause.
  if (how_.polled_doorbells) prctl(PR_SET_TIMERSLACK, 1'000ul, 0ul, 0ul, 0ul);
  if (std::string why = function_.begin(wires); !why.empty()) return why;
  if (std::string why = prepare_saving(); !why.empty()) return why;
  if (std::string why = listen_for_control(std::move(passed.control), passed.own_control);
      !why.empty())
    return why;
  if (std::string why = listen_for_clients(std::move(passed.device)); !why.empty()) return why;
  return close_itself();
}

std::string server::load(std::span<const std::byte> state) {
  served_adapter adapter{how_, function_};
  const std::string why = load_adapter(adapter, state);
  if (why.empty()) return "";
  failure_ = usage_error;
  return fmt::format("--load {}: {}", how_.load, why);
}

std::string server::prepare_saving() {
  if (how_.save.empty()) return "";
  std::string why = obstacle_to_saving({how_, function_});
  if (!why.empty()) failure_ = usage_error;
  if (why.empty()) why = saved_.open(how_.save);
  else why = fmt::format("the state cannot be saved: {}", why);
  return why.empty() ? "" : fmt::format("--save-on TERM {}", why);
}

// Doorbells that were stored, and not seen, are in pages that go with this process.
int server::save() {
  std::string why = obstacle_to_saving({how_, function_});
  const bool had_memory = without_exceptions([&] {
    if (!why.empty()) return;
    function_.look_at_doorbells(doorbell_pages::every);
    served_adapter adapter{how_, function_};
    why = saved_.write(save_adapter(adapter));
  });
  if (had_memory && why.empty()) return 0;
  report(fmt::format("--save-on TERM {}: no state is saved: {}", how_.save,
                     had_memory ? why : "no memory"));
  return 1;
}

std::string server::close_itself() {
  closed_process::permissions kept;
  function_.add_permissions(kept);
  saved_.add_permissions(kept);
  if (bound_) kept.removed_files.push_back(how_.socket);
  if (!control_.path().empty()) kept.removed_files.push_back(control_.path());
  const closed_process::closing result = closed_process::close_process(how_.closed, kept);
  rights_ = result.text;
  return result.failed ? fmt::format("--closed required: {}", result.text) : "";
}

void server::tell_that_it_is_ready() {
  const std::array<int, 2> sockets{listener_.get(), control_.socket()};
  keeper_.tell(keeper::record::ready, std::span(sockets).first(sockets[1] >= 0 ? 2 : 1));
  told_ready_ = keeper_.there();
  report(fmt::format("ready: {}; {}", bound_ ? how_.socket : "the socket that was handed over",
                     rights_));
  // If there is a keeper, the manager has started the keeper, and the keeper reports to it.
  if (!keeper_.there()) manager_.tell("READY=1");
}

void server::resume(keeper::kept_client& client) {
  bool resumed = false;
  without_exceptions([&] { resumed = session_.resume(client); });
  if (resumed) {
    report("the client is served on; its adapter has an internal error until it is reset");
    return;
  }
  session_.end();
  report("the client cannot be served on: hung up");
}

std::string server::listen_for_clients(descriptor passed) {
  listener_ = std::move(passed);
  // If the settings name a socket too, an earlier process of this program has bound the given one.
  bound_ = listener_.open() && !how_.socket.empty();
  if (listener_.open()) return "";
  listener_ = make_socket(AF_UNIX, SOCK_STREAM);
  if (!listener_.open()) return std::strerror(errno);
  if (std::string why = bind_unix(listener_.get(), how_.socket); !why.empty())
    return fmt::format("--socket {}", why);
  bound_ = true;
  if (listen(listener_.get(), static_cast<int>(most_refused)) != 0)
    return fmt::format("--socket {}: {}", how_.socket, std::strerror(errno));
  return "";
}

std::string server::listen_for_control(descriptor passed, bool own) {
  if (passed.open()) {
    control_.listen(std::move(passed), own ? how_.control : "");
    return "";
  }
  if (how_.control.empty()) return "";
  const std::string why = control_.listen(how_.control);
  return why.empty() ? "" : fmt::format("--control {}", why);
}

// The places in the list are fixed. An unused place has a descriptor below 0, which poll() ignores.
void server::watch_everything() {
  watched_.assign({{stop_.get(), POLLIN, 0},
                   {listener_.get(), POLLIN, 0},
                   {session_.serving() ? session_.socket() : -1, POLLIN, 0},
                   {function_.signals().unmask_descriptor(), POLLIN, 0}});
  const bool reading = function_.may_receive() && !memory_reserve::memory_is_short();
  for (unsigned port = 0; port < 2; ++port) {
    const wire* cable = function_.cable(port);
    watched_.push_back({cable != nullptr ? cable->descriptor() : -1,
                        cable != nullptr ? cable->events(reading) : short{0}, 0});
  }
  for (const channel& one : refused_) watched_.push_back({one.socket(), POLLIN, 0});
  control_place_ = watched_.size();
  control_.watch(watched_);
}

bool server::watch_doorbells(std::uint64_t until) {
  do {
    if (function_.look_at_doorbells(doorbell_pages::some)) return true;
  } while (now_ns() < until);
  return false;
}

// A store to a doorbell page does not wake the server. While doorbell pages are in use, no sleep is
// longer than rest::longest_ns. A doorbell between a scan and the following sleep stays in the
// page, and the scan after the sleep finds it.
void server::wait_for_something() {
  watch_everything();
  std::uint64_t deadline = session_.has_work() ? 0 : function_.deadline();
  for (unsigned port = 0; port < 2; ++port)
    if (const wire* cable = function_.cable(port)) deadline = std::min(deadline, cable->deadline());
  deadline = std::min(deadline, control_.deadline());
  if (memory_reserve::memory_is_short())
    return sleep_until(std::min(deadline, now_ns() + memory_is_awaited_ns));
  if (!function_.doorbells_in_use()) return sleep_until(deadline);
  const std::uint64_t now = now_ns(), pause = rest_.pause(now);
  const bool rang =
      watch_doorbells(pause == 0 ? std::min(deadline, now + doorbells_alone_ns) : now);
  if (rang) {
    rest_.happened(now);
    if (now - asked_ < others_wait_ns) return;
  }
  asked_ = now;
  sleep_until(rang || pause == 0 ? 0 : std::min(deadline, now + pause));
  const auto heard = [](const pollfd& one) { return one.revents != 0; };
  if (std::any_of(watched_.begin(), watched_.end(), heard)) rest_.happened(now);
}

void server::sleep_until(std::uint64_t deadline) {
  const std::uint64_t now = now_ns();
  const std::uint64_t left = deadline > now ? deadline - now : 0;
  const timespec pause{static_cast<time_t>(left / 1'000'000'000),
                       static_cast<long>(left % 1'000'000'000)};
  const bool forever = deadline == ~std::uint64_t{0};
  if (ppoll(watched_.data(), watched_.size(), forever ? nullptr : &pause, nullptr) < 0)
    for (pollfd& one : watched_) one.revents = 0;
}

void server::accept_one() {
  channel who(descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  if (!who.open()) return;
  if (!session_.serving()) {
    report("a client has come");
    session_.begin(std::move(who));
  } else if (refused_.size() < most_refused) {
    report("another client has come, while one is served: refused");
    refused_.push_back(std::move(who));
  }
}

void server::serve_client() {
  if (session_.work()) return;
  session_.end();
  report("the client has gone");
}

// The protocol can only refuse a client by the reply to its first request.
void server::refuse_others() {
  std::erase_if(refused_, [](channel& one) {
    message first;
    const arrival what = one.receive(first);
    if (what == arrival::nothing) return false;
    if (what == arrival::message)
      one.send({first.head.id, first.head.command, 0, type_reply | flag_error, EBUSY});
    return true;
  });
}

// Answers need memory for their text, and for the model's part in them.
void server::serve_control() {
  control_.serve(
      std::span(watched_).subspan(control_place_), now_ns(), [this](std::string_view line) {
        std::string answer;
        if (memory_reserve::memory_is_short() ||
            !without_exceptions([&] { answer = answer_control_request(subject_, line); }))
          answer = "{\"ok\":false,\"error\":\"no memory\"}";
        return answer;
      });
}

// Called if an allocation failed outside of a request: in an answer on the control socket, or while
// a client was accepted.
void server::recover_from_lack_of_memory() {
  report("no memory: clients of the control socket are hung up on");
  control_.hang_up();
  const timespec pause{0, static_cast<long>(memory_is_awaited_ns)};
  nanosleep(&pause, nullptr);
}

bool server::work() {
  wait_for_something();
  if (watched_[stop_place].revents != 0) {
    signalfd_siginfo about{};
    terminated_ = read(stop_.get(), &about, sizeof about) == sizeof about &&
                  about.ssi_signo == static_cast<std::uint32_t>(SIGTERM);
    return false;
  }
  if (watched_[unmask_place].revents != 0) function_.signals().unmask_signalled();
  if (session_.serving() && (watched_[client_place].revents != 0 || session_.has_work()))
    serve_client();
  for (unsigned port = 0; port < 2; ++port)
    if (function_.cable(port) != nullptr)
      function_.serve_cable(port, watched_[cable_place + port].revents);
  if (function_.deadline() <= now_ns()) function_.run_turn();
  serve_control();
  if (!refused_.empty()) refuse_others();
  if (watched_[listener_place].revents != 0) accept_one();
  return true;
}

int server::run() {
  keeper_.tell(keeper::record::serving);
  bool asked_to_end = false;
  while (!asked_to_end && !handed_over_)
    if (!without_exceptions([&] { asked_to_end = !work(); })) recover_from_lack_of_memory();
  if (handed_over_) return 0;
  if (!keeper_.there()) manager_.tell("STOPPING=1");
  return saved_.open() && terminated_ ? save() : 0;
}

}  // namespace freehca::device_server
