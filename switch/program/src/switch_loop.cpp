// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "switch_loop.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <freehca/ethernet_switch/bridge.hpp>
#include <freehca/infiniband_switch/switch_node.hpp>
#include <freehca/wires/socket_address.hpp>

#include "report.hpp"

namespace freehca::switch_program {

using wires::wire;

namespace {

constexpr std::uint64_t second = 1'000'000'000, millisecond = 1'000'000;
constexpr int most_callers_waiting = 64;
/// How long the other ends are given to take the last word.
constexpr std::uint64_t goodbye_ns = second / 2;

timespec pause_of(std::uint64_t ns) {
  return {static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
}

}  // namespace

class switch_loop::port_reader final : public wires::wire_reader {
 public:
  port_reader(switch_loop& owner, unsigned number) : owner_(owner), number_(number) {}
  bool may_receive() override { return true; }
  void receive(const std::byte* from, std::size_t bytes) override {
    owner_.forwarder_->arrived(number_, {from, bytes});
  }
  void complain(std::string_view what) override {
    report(fmt::format("port {}: {}", number_, what));
  }

 private:
  switch_loop& owner_;
  unsigned number_;
};

// A caller's packets wait until it has a port.
class switch_loop::caller_reader final : public wires::wire_reader {
 public:
  explicit caller_reader(switch_loop& owner) : owner_(owner) {}
  bool may_receive() override { return true; }
  void receive(const std::byte*, std::size_t) override {}
  void complain(std::string_view what) override {
    owner_.report_some(fmt::format("--listen: {}", what));
  }

 private:
  switch_loop& owner_;
};

switch_loop::switch_loop(const settings& how) : how_(how), ports_(how.ports) {
  if (how.ethernet) {
    forwarder_ = std::make_unique<ethernet_switch::bridge>(how.ports, *this);
    return;
  }
  infiniband_switch::switch_identity who;
  who.ports = how.ports;
  who.guid = how.guid;
  who.manages = how.manages;
  who.describe(how.description);
  forwarder_ = std::make_unique<infiniband_switch::switch_node>(who, *this);
}

switch_loop::~switch_loop() {
  if (!listener_path_.empty()) unlink(listener_path_.c_str());
}

std::uint64_t switch_loop::now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * second + static_cast<std::uint64_t>(t.tv_nsec);
}

bool switch_loop::send(unsigned number, std::span<const std::byte> bytes) {
  port& to = ports_[number - 1];
  if (!to.held() && to.wire->send(bytes.data(), bytes.size())) return true;
  to.full = true;
  return false;
}

void switch_loop::tell(std::string_view what) {
  report(fmt::format("trace: {}", what));
}

void switch_loop::report_some(std::string_view what) {
  if (some_reported_ == most_reported) return;
  ++some_reported_;
  report(
      fmt::format("{}{}", what, some_reported_ == most_reported ? "; no more lines of these" : ""));
}

std::string switch_loop::begin() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  stop_ = wires::descriptor(signalfd(-1, &ends, SFD_CLOEXEC));
  if (!stop_.open()) return std::strerror(errno);
  if (std::string why = lay_wires(); !why.empty()) return why;
  if (std::string why = close_itself(); !why.empty()) return why;
  report(fmt::format("ready: {} ports, {}; {}", how_.ports,
                     how_.ethernet ? "an Ethernet bridge"
                                   : fmt::format("an InfiniBand switch, GUID {:#018x}{}", how_.guid,
                                                 how_.manages ? ", with a subnet manager" : ""),
                     rights_));
  return "";
}

std::string switch_loop::lay_wires() {
  if (how_.listen.empty()) {
    for (unsigned i = 0; i < ports_.size(); ++i) {
      std::string why;
      ports_[i].wire = wires::make_wire(how_.wires[i], why, how_.closed);
      if (ports_[i].wire == nullptr) return fmt::format("--port {}: {}", i + 1, why);
      if (const std::string warning = ports_[i].wire->warning(); !warning.empty())
        report(fmt::format("port {}: {}", i + 1, warning));
    }
    return "";
  }
  std::string address;
  wires::hello_options options;
  std::string why = wires::read_hello_options(how_.listen, address, options);
  if (why.empty()) why = wires::listen_at(address, most_callers_waiting, listener_, listener_path_);
  if (!why.empty()) return fmt::format("--listen {}", why);
  if (wires::lacks_secret(address, options))
    report(fmt::format("--listen: {}", wires::no_secret_warning(address, true)));
  options.needs_name = how_.names_required;
  callers_.set_options(std::move(options));
  for (port& one : ports_) one.wire = wires::stream_wire::to_be_given();
  return "";
}

std::string switch_loop::close_itself() {
  closed_process::permissions kept;
  for (const port& one : ports_) one.wire->add_permissions(kept);
  if (!listener_path_.empty()) kept.removed_files.push_back(listener_path_);
  const closed_process::closing result = closed_process::close_process(how_.closed, kept);
  rights_ = result.text;
  return result.failed ? fmt::format("--closed required: {}", result.text) : "";
}

// The places are fixed; one where nobody is has a descriptor below 0, which poll() passes over.
void switch_loop::wait_for_something() {
  // Who finds no room waits before the door.
  const bool accepts = listener_.open() && callers_.have_room();
  watched_.assign({{stop_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}});
  std::uint64_t deadline = std::min(forwarder_->deadline(), callers_.deadline());
  for (const port& one : ports_) {
    watched_.push_back({one.wire->descriptor(), one.wire->events(true), 0});
    deadline = std::min({deadline, one.wire->deadline(), one.held_until});
  }
  callers_.watch(watched_);
  const std::uint64_t at = now();
  const timespec pause = pause_of(deadline > at ? deadline - at : 0);
  if (ppoll(watched_.data(), watched_.size(), deadline == never ? nullptr : &pause, nullptr) < 0)
    for (pollfd& one : watched_) one.revents = 0;
}

void switch_loop::serve(unsigned number, short events) {
  port& p = ports_[number - 1];
  port_reader reader(*this, number);
  update_plug(number);
  p.wire->work(events, now(), reader);
  update_plug(number);
  if (p.full && !p.held() && p.wire->idle()) {
    p.full = false;
    forwarder_->has_room(number);
  }
}

void switch_loop::update_plug(unsigned number) {
  port& p = ports_[number - 1];
  if (p.wire->connected() == p.plugged) return;
  if (p.plugged && !p.name.empty() && how_.grace_ms != 0) {
    if (!p.held()) {
      p.held_until = now() + how_.grace_ms * millisecond;
      if (listens())
        tell(
            fmt::format("port {}: the connection of \"{}\" has ended; the port keeps its link for "
                        "{} ms",
                        number, p.name, how_.grace_ms));
    }
    if (now() < p.held_until) return;
  }
  p.held_until = never;
  p.plugged = !p.plugged;
  p.full = false;
  forwarder_->plug(number, p.plugged);
}

void switch_loop::serve_callers() {
  if (!listener_.open()) return;
  caller_reader reader(*this);
  callers_.work(std::span(watched_).subspan(first_port_place + ports_.size()), now(), reader);
  if (watched_[listener_place].revents != 0) callers_.accept_from(listener_.get(), now());
  const bool proves = !callers_.options().secret.empty();
  unsigned earlier = 0;
  std::vector<port_use> uses;
  for (auto one = callers_.all().begin(); one != callers_.all().end();) {
    unsigned number = 0;
    if ((*one)->connected()) {
      uses.clear();
      for (const port& p : ports_) uses.push_back({p.plugged || p.wire->connected(), p.name});
      number = choose_port(uses, (*one)->peer_name(), earlier);
    }
    if (number == 0) {
      // One that has not proved anything gets no port kept free.
      if (!proves || (*one)->connected()) ++earlier;
      ++one;
      continue;
    }
    std::unique_ptr<wires::stream_wire> caller = std::move(*one);
    one = callers_.all().erase(one);
    give_port(number, std::move(caller));
  }
}

void switch_loop::give_port(unsigned number, std::unique_ptr<wires::stream_wire> caller) {
  port& p = ports_[number - 1];
  p.name = caller->peer_name();
  if (p.plugged && !p.held())
    report_some(fmt::format("port {}: \"{}\" has connected again; its older connection is closed",
                            number, p.name));
  if (p.held() && listens())
    tell(fmt::format("port {}: \"{}\" is connected again", number, p.name));
  p.wire = std::move(caller);
  p.held_until = never;
  if (p.plugged) {
    // The link goes on. What was sent in the meantime has waited.
    p.full = false;
    forwarder_->has_room(number);
  }
  serve(number, 0);
}

void switch_loop::run() {
  for (unsigned number = 1; number <= ports_.size(); ++number) serve(number, 0);
  while (true) {
    wait_for_something();
    if (watched_[stop_place].revents != 0) return say_goodbye();
    for (unsigned number = 1; number <= ports_.size(); ++number)
      serve(number, watched_[first_port_place + number - 1].revents);
    if (forwarder_->deadline() <= now()) forwarder_->run();
    serve_callers();
  }
}

void switch_loop::say_goodbye() {
  forwarder_->end();
  const std::uint64_t until = now() + goodbye_ns;
  for (std::uint64_t at = now(); at < until; at = now()) {
    watched_.clear();
    for (const port& one : ports_)
      if (one.plugged && !one.wire->idle())
        watched_.push_back({one.wire->descriptor(), POLLOUT, 0});
    if (watched_.empty()) return;
    const timespec pause = pause_of(std::min(until - at, second / 100));
    ppoll(watched_.data(), watched_.size(), &pause, nullptr);
    for (unsigned number = 1; number <= ports_.size(); ++number) serve(number, POLLOUT);
  }
}

}  // namespace freehca::switch_program
