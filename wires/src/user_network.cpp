// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// libslirp's loop, with addresses as QEMU's -netdev user has them (QEMU net/slirp.c): 10.0.2.0/24
// and fec0::/64, where .2 is the host, .3 the name server, and .15 the first address that DHCP
// assigns.
#include "user_network.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <slirp/libslirp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <system_error>

#include <fmt/format.h>

namespace freehca::wires {
namespace {

constexpr std::size_t longest = 65536;
constexpr std::uint32_t milliseconds_forever = ~std::uint32_t{0};
constexpr std::int64_t never = -1;

std::int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::int64_t milliseconds() {
  return nanoseconds() / 1'000'000;
}

struct timer {
  SlirpTimerCb rings;
  void* with;
  std::int64_t at = never;  // milliseconds
};

class network {
 public:
  explicit network(int socket) : socket_(socket) {}

  std::string begin(const user_network_options& how);
  void turn();

 private:
  void arrived();
  void ring_timers();

  // Callbacks of libslirp. The last argument of each is the network.
  static network& at(void* self) { return *static_cast<network*>(self); }
  static ssize_t send_packet(const void* from, std::size_t bytes, void* self) {
    // Blocks while the adapter accepts no frame. If the other end is gone, turn() notices it.
    return ::send(at(self).socket_, from, bytes, MSG_NOSIGNAL);
  }
  static void guest_error(const char* what, void* self) {
    if (++at(self).errors_ <= most_told)
      std::fprintf(stderr, "user network: of the guest: %s\n", what);
  }
  static std::int64_t clock(void*) { return nanoseconds(); }
  static void* timer_new(SlirpTimerCb rings, void* with, void* self) {
    return &at(self).timers_.emplace_back(timer{rings, with, never});
  }
  static void timer_free(void* which, void* self) {
    at(self).timers_.remove_if([which](const timer& t) { return &t == which; });
  }
  static void timer_mod(void* which, std::int64_t at, void*) {
    static_cast<timer*>(which)->at = at;
  }
  static void nothing(int, void*) {}
  static void nothing(void*) {}
  static int add_poll(int descriptor, int events, void* self);
  static int events_of(int place, void* self);

  static constexpr unsigned most_told = 16;  // a guest can cause any number of messages

  int socket_;
  unsigned errors_ = 0;
  Slirp* slirp_ = nullptr;
  std::list<timer> timers_;
  std::vector<pollfd> watched_;
};

std::string network::begin(const user_network_options& how) {
  static constexpr SlirpCb asks{.send_packet = send_packet,
                                .guest_error = guest_error,
                                .clock_get_ns = clock,
                                .timer_new = timer_new,
                                .timer_free = timer_free,
                                .timer_mod = timer_mod,
                                .register_poll_fd = nothing,
                                .unregister_poll_fd = nothing,
                                .notify = nothing,
                                .init_completed = nullptr,
                                .timer_new_opaque = nullptr};
  SlirpConfig c{};
  c.version = 1;
  c.in_enabled = c.in6_enabled = true;
  c.vnetwork.s_addr = htonl(0x0a000200);
  c.vnetmask.s_addr = htonl(0xffffff00);
  c.vhost.s_addr = htonl(0x0a000202);
  c.vnameserver.s_addr = htonl(0x0a000203);
  c.vdhcp_start.s_addr = htonl(0x0a00020f);
  inet_pton(AF_INET6, "fec0::", &c.vprefix_addr6);
  c.vprefix_len = 64;
  inet_pton(AF_INET6, "fec0::2", &c.vhost6);
  inet_pton(AF_INET6, "fec0::3", &c.vnameserver6);
  c.tftp_path = how.tftp.empty() ? nullptr : how.tftp.c_str();
  c.bootfile = how.boot_file.empty() ? nullptr : how.boot_file.c_str();
  slirp_ = slirp_new(&c, &asks, this);
  if (slirp_ == nullptr) return "libslirp does not begin";
  for (const forwarded_port& port : how.forwarded)
    if (slirp_add_hostfwd(slirp_, port.udp, port.host, port.host_port, port.guest,
                          port.guest_port) != 0)
      return fmt::format("port {} of the host: {}", port.host_port, std::strerror(errno));
  return "";
}

int network::add_poll(int descriptor, int events, void* self) {
  const auto requested = [events](int theirs, short ours) {
    return static_cast<short>((events & theirs) != 0 ? ours : 0);
  };
  at(self).watched_.push_back(
      {descriptor,
       static_cast<short>(requested(SLIRP_POLL_IN, POLLIN) | requested(SLIRP_POLL_OUT, POLLOUT) |
                          requested(SLIRP_POLL_PRI, POLLPRI)),
       0});
  return static_cast<int>(at(self).watched_.size() - 1);
}

int network::events_of(int place, void* self) {
  const short events = at(self).watched_[static_cast<std::size_t>(place)].revents;
  const auto came = [events](short ours, int theirs) { return (events & ours) != 0 ? theirs : 0; };
  return came(POLLIN, SLIRP_POLL_IN) | came(POLLOUT, SLIRP_POLL_OUT) |
         came(POLLPRI, SLIRP_POLL_PRI) | came(POLLERR, SLIRP_POLL_ERR) |
         came(POLLHUP, SLIRP_POLL_HUP);
}

void network::ring_timers() {
  for (timer& t : timers_)
    if (t.at != never && t.at <= milliseconds()) {
      t.at = never;
      t.rings(t.with);
    }
}

// Ends the process when the adapter is gone.
void network::arrived() {
  static std::array<std::uint8_t, longest> frame;
  constexpr unsigned most_at_once = 64;
  for (unsigned i = 0; i < most_at_once; ++i) {
    const ssize_t got = recv(socket_, frame.data(), frame.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) _exit(EXIT_SUCCESS);
    if (got < 0) return;
    slirp_input(slirp_, frame.data(), static_cast<int>(got));
  }
}

void network::turn() {
  watched_.assign({{socket_, POLLIN, 0}});
  std::uint32_t wait = milliseconds_forever;
  slirp_pollfds_fill(slirp_, &wait, add_poll, this);
  std::int64_t left = wait == milliseconds_forever ? never : std::int64_t{wait};
  for (const timer& t : timers_)
    if (t.at != never) {
      const std::int64_t until = std::max<std::int64_t>(0, t.at - milliseconds());
      left = left == never ? until : std::min(left, until);
    }
  const int ready = poll(watched_.data(), watched_.size(),
                         static_cast<int>(std::min<std::int64_t>(left, 1'000'000)));
  slirp_pollfds_poll(slirp_, ready < 0, events_of, this);
  ring_timers();
  if (ready > 0 && watched_[0].revents != 0) arrived();
}

// The folder of the host's list of name servers. The list may be a link, and may be replaced by
// another file, so the folder is needed.
std::string folder_of_name_servers() {
  std::error_code ignored;
  const auto file = std::filesystem::canonical("/etc/resolv.conf", ignored);
  return ignored ? "/etc" : file.parent_path().string();
}

// Ports of the host are bound before, so the process binds none later.
std::string close_network(const user_network_options& how) {
  closed_process::permissions kept;
  kept.connects_anywhere = true;
  kept.read_folders.push_back(folder_of_name_servers());
  if (!how.tftp.empty()) kept.read_folders.push_back(how.tftp);
  const closed_process::closing result = closed_process::close_process(how.closed, kept);
  if (result.failed) return fmt::format("--closed required: {}", result.text);
  if (result.partial) std::fprintf(stderr, "user network: %s\n", result.text.c_str());
  return "";
}

}  // namespace

void serve_user_network(int socket, const user_network_options& how) {
  network served(socket);
  std::string why = served.begin(how);
  if (why.empty()) why = close_network(how);
  const std::string said = why.empty() ? user_network_ready : why;
  ::send(socket, said.data(), said.size(), MSG_NOSIGNAL);
  if (!why.empty()) _exit(EXIT_FAILURE);
  while (true) served.turn();
}

}  // namespace freehca::wires
