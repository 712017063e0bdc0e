// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "callers.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace freehca::switch_program {

using wires::stream_wire;

unsigned choose_port(std::span<const port_use> ports, const std::string& name, unsigned earlier) {
  if (!name.empty()) {
    const auto found = std::ranges::find(ports, name, &port_use::name);
    if (found != ports.end()) return static_cast<unsigned>(found - ports.begin()) + 1;
  }
  for (const bool had_name : {false, true})
    for (unsigned i = 0; i < ports.size(); ++i)
      if (!ports[i].in_use && ports[i].name.empty() != had_name && earlier-- == 0) return i + 1;
  return 0;
}

void callers::set_options(wires::hello_options options) {
  options_ = std::move(options);
  options_.waits_for_name = options_.secret.empty();
}

bool callers::have_room() const {
  return all_.size() < most ||
         std::ranges::any_of(all_, [](const auto& one) { return !one->connected(); });
}

void callers::accept_from(int listener, std::uint64_t now) {
  wires::descriptor accepted(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.open()) return;
  if (all_.size() >= most) {
    const auto oldest = std::ranges::find_if(all_, [](const auto& o) { return !o->connected(); });
    if (oldest == all_.end()) return;
    all_.erase(oldest);
  }
  all_.push_back(stream_wire::to_be_given(options_));
  all_.back()->take(std::move(accepted), now);
}

// One that has finished its hello is not read before it has a port: its packets wait in the socket.
void callers::watch(std::vector<pollfd>& to) const {
  for (const auto& one : all_)
    to.push_back({one->descriptor(), one->connected() ? short{POLLRDHUP} : one->events(true), 0});
}

std::uint64_t callers::deadline() const {
  std::uint64_t at = ~std::uint64_t{0};
  for (const auto& one : all_)
    if (!one->connected()) at = std::min(at, one->deadline());
  return at;
}

void callers::work(std::span<const pollfd> events, std::uint64_t now, wires::wire_reader& to) {
  std::size_t place = 0;
  for (auto one = all_.begin(); one != all_.end(); ++place) {
    stream_wire& caller = **one;
    const short came = place < events.size() ? events[place].revents : short{0};
    const bool left = caller.connected() && came != 0;
    if (!caller.connected()) caller.work(came, now, to);
    one = left || caller.descriptor() < 0 ? all_.erase(one) : std::next(one);
  }
}

}  // namespace freehca::switch_program
