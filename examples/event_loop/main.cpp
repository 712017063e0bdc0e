// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver in a program's own loop: epoll waits for the adapter, for the driver's next deadline
// and for standard input. The program writes its standard input through the adapter to a second
// buffer and compares the two.
// Usage: event_loop 0000:03:00.0 <file
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <freehca/blocking/session.hpp>

using namespace freehca;

namespace {

constexpr std::size_t most = 4096;  // bytes of one write

/// An epoll set of all descriptors that the program waits for.
class sleeper {
 public:
  explicit sleeper(int adapter) {
    watch(EPOLL_CTL_ADD, adapter, EPOLLIN);
    watch(EPOLL_CTL_ADD, timer_, EPOLLIN);
    watch(EPOLL_CTL_ADD, STDIN_FILENO, EPOLLONESHOT);
  }
  /// An operation of the program's own, which ends when standard input is readable. A task awaits
  /// it like the operations of the driver.
  operation& input() {
    watch(EPOLL_CTL_MOD, STDIN_FILENO, EPOLLIN | EPOLLONESHOT);
    input_.restart();
    input_.begin([](operation&, void*) noexcept {}, nullptr);
    return input_;
  }
  /// Sleeps until the adapter interrupts, the driver's `deadline` passes, or there is input.
  void sleep(std::uint64_t deadline, std::uint64_t now) {
    itimerspec at{};  // zero: the timer is disarmed
    if (deadline > now && deadline != operation::no_deadline) {
      const std::uint64_t left = deadline - now;
      at.it_value.tv_sec = static_cast<time_t>(left / clock::seconds(1));
      at.it_value.tv_nsec = static_cast<long>(left % clock::seconds(1));
    }
    timerfd_settime(timer_, 0, &at, nullptr);
    epoll_event ready[3];
    const int n = epoll_wait(all_, ready, 3, deadline <= now ? 0 : -1);
    for (int i = 0; i < n; ++i)
      if (ready[i].data.fd == STDIN_FILENO && input_.where() == operation::phase::queued)
        input_.complete({});
  }

 private:
  void watch(int what, int fd, std::uint32_t events) {
    epoll_event e{};
    e.events = events;
    e.data.fd = fd;
    if (epoll_ctl(all_, what, fd, &e) != 0) std::perror("epoll_ctl"), std::exit(1);
  }
  int all_ = epoll_create1(EPOLL_CLOEXEC);
  int timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  operation input_;
};

/// Writes standard input through the adapter and returns the number of bytes.
easy::task<std::size_t> carry(easy::frames&, easy::adapter& hca, sleeper& events) {
  co_await hca.bring_up();
  const easy::memory from = co_await hca.allocate(most);
  const easy::memory to = co_await hca.allocate(most, easy::rights::remote_write);
  const easy::connection a = co_await hca.open_rc();
  const easy::connection b = co_await hca.open_rc();
  co_await hca.connect(a, b.self);
  co_await hca.connect(b, a.self);
  for (std::size_t all = 0;;) {
    co_await events.input();
    const ssize_t n = read(STDIN_FILENO, from.host, most);
    if (n <= 0) {
      co_await hca.tear_down();
      co_return all;
    }
    const auto bytes = static_cast<std::size_t>(n);
    const status posted =
        a.post(queues::rdma_write{.remote = to.remote(), .data = from.part(0, bytes)});
    if (!posted.ok()) co_return posted;
    const queues::work_completion c = co_await hca.next(a);
    if (!c.ok() || std::memcmp(from.host, to.host, bytes) != 0)
      co_return status(transport_error::bad_reply);
    all += bytes;
  }
}

}  // namespace

int main(int argc, char** argv) {
  alignas(16) static std::byte memory[64 * 1024];
  easy::frames frames(memory);
  blocking::session session(argc > 1 ? argv[1] : "");
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  easy::adapter& hca = session.adapter();
  sleeper events(session.descriptor());

  const auto work = carry(frames, hca, events);
  while (!work.done()) {
    // An operation that ended may have started another one. Sleep only after a call of look() in
    // which no operation ended.
    if (session.look() == 0) events.sleep(hca.next_deadline(), hca.hardware().platform().now());
  }
  const result<std::size_t> bytes = work.value();
  if (!bytes.ok()) return std::fprintf(stderr, "%s\n", blocking::words(bytes.error()).c_str()), 1;
  return std::printf("%zu bytes: ok\n", bytes.value()), 0;
}
