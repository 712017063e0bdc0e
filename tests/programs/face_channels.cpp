// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion channels and asynchronous descriptors.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "face.hpp"

namespace programs {

namespace {

struct channel_of_test {
  explicit channel_of_test(opened_device& device) : made(ibv_create_comp_channel(device.context)) {
    require(made != nullptr, "ibv_create_comp_channel");
  }
  ~channel_of_test() {
    expect_equal(ibv_destroy_comp_channel(made), 0, "ibv_destroy_comp_channel");
  }
  void set_nonblocking() { fcntl(made->fd, F_SETFL, fcntl(made->fd, F_GETFL) | O_NONBLOCK); }
  /// Takes an event. Returns 0 or errno.
  int take(ibv_cq*& of) {
    void* context = nullptr;
    if (ibv_get_cq_event(made, &of, &context) != 0) return errno;
    expect(context == of->cq_context, "the context of an event");
    return 0;
  }
  bool readable() {
    pollfd looked{made->fd, POLLIN, 0};
    return poll(&looked, 1, 0) == 1;
  }
  ibv_comp_channel* made;
};

void arm(ibv_cq* cq) {
  require(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
}

void channel_is_a_descriptor(std::uint64_t seed) {
  opened_device device;
  channel_of_test channel(device);
  loop pairs(device, seed, {.channel = channel.made});
  const int set = epoll_create1(0);
  epoll_event interest{};
  interest.events = EPOLLIN;
  require(epoll_ctl(set, EPOLL_CTL_ADD, channel.made->fd, &interest) == 0, "epoll_ctl");
  ibv_cq* of = nullptr;
  channel.set_nonblocking();
  for (int i = 0; i < 10; ++i) {
    expect(!channel.readable(), "poll without an event");
    expect_equal(channel.take(of), EAGAIN, "an event of a channel that has none");
    pairs.write("a write without notification");
    expect(!channel.readable(), "poll after a completion that nobody asked for");
    arm(pairs.a.send_cq);
    // No thread of the program runs the adapter while this one sleeps.
    require(pairs.a.post(pairs.write_request(7)) == 0, "ibv_post_send");
    epoll_event found{};
    expect_equal(epoll_wait(set, &found, 1, 60'000), 1, "epoll_wait");
    expect(channel.readable(), "poll with an event");
    expect_equal(channel.take(of), 0, "an event");
    expect(of == pairs.a.send_cq, "the queue of an event");
    ibv_ack_cq_events(of, 1);
    expect_equal(pairs.a.sent("a write").status, IBV_WC_SUCCESS, "status of a write");
  }
  close(set);
}

void blocking_get_waits(std::uint64_t seed) {
  opened_device device;
  channel_of_test channel(device);
  loop pairs(device, seed, {.channel = channel.made});
  for (int i = 0; i < 20; ++i) {
    arm(pairs.b.receive_cq);
    ibv_sge to{pairs.to.at(0), pairs.bytes, pairs.to_region->lkey};
    require(pairs.b.post_receive(1, to) == 0, "ibv_post_recv");
    ibv_send_wr request = pairs.write_request(1);
    request.opcode = IBV_WR_SEND;
    require(pairs.a.post(request) == 0, "ibv_post_send");
    ibv_cq* of = nullptr;
    expect_equal(channel.take(of), 0, "an event of a blocking channel");
    expect(of == pairs.b.receive_cq, "the queue of an event");
    ibv_ack_cq_events(of, 1);
    expect_equal(pairs.b.received("a receive").status, IBV_WC_SUCCESS, "status of a receive");
    expect_equal(pairs.a.sent("a send").status, IBV_WC_SUCCESS, "status of a send");
  }
}

/// Sends SIGUSR1 to this thread until the object is destroyed.
class signals {
 public:
  signals() {
    struct sigaction how {};
    how.sa_handler = [](int) {};
    sigaction(SIGUSR1, &how, nullptr);  // without SA_RESTART
    sender_ = std::thread([this, to = pthread_self()] {
      while (!ended_) {
        pthread_kill(to, SIGUSR1);
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
      }
    });
  }
  ~signals() {
    ended_ = true;
    sender_.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::thread sender_;
};

void signals_interrupt_waits(std::uint64_t) {
  opened_device device;
  channel_of_test channel(device);
  const signals sent;
  ibv_cq* of = nullptr;
  expect_equal(channel.take(of), EINTR, "ibv_get_cq_event when a signal comes");
  ibv_async_event event{};
  const int got = ibv_get_async_event(device.context, &event);
  expect(got != 0 && errno == EINTR, "ibv_get_async_event when a signal comes");
}

void destroy_waits_for_acknowledgements(std::uint64_t seed) {
  opened_device device;
  channel_of_test channel(device);
  loop pairs(device, seed, {.channel = channel.made});
  ibv_cq* const cq = pairs.a.send_cq;
  for (int i = 0; i < 3; ++i) {
    arm(cq);
    pairs.write("a write");
    ibv_cq* of = nullptr;
    expect_equal(channel.take(of), 0, "an event");
  }
  require(ibv_destroy_qp(pairs.a.qp) == 0, "ibv_destroy_qp");
  pairs.a.qp = nullptr;
  std::atomic<bool> acknowledged{false};
  std::thread late([&] {
    ibv_ack_cq_events(cq, 2);
    const timespec pause{0, 200'000'000};
    nanosleep(&pause, nullptr);
    acknowledged = true;
    ibv_ack_cq_events(cq, 1);
  });
  expect_equal(ibv_destroy_cq(cq), 0, "ibv_destroy_cq");
  expect(acknowledged, "ibv_destroy_cq returned before the last acknowledgement");
  pairs.a.send_cq = nullptr;
  late.join();
}

/// Moves a connected queue pair of its own to the error state by a request with a wrong key.
void cause_access_error(loop& pairs) {
  ibv_send_wr request = pairs.write_request(1);
  request.wr.rdma.rkey ^= 1;
  require(pairs.a.post(request) == 0, "ibv_post_send");
  expect_equal(pairs.a.sent("a write").status, IBV_WC_REM_ACCESS_ERR, "status of a write");
}

void asynchronous_events_are_acknowledged(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  cause_access_error(pairs);
  ibv_async_event event{};
  require(ibv_get_async_event(device.context, &event) == 0, "ibv_get_async_event");
  expect(event.element.qp == pairs.b.qp, "the queue pair of the event");
  std::atomic<bool> acknowledged{false};
  std::thread late([&] {
    const timespec pause{0, 200'000'000};
    nanosleep(&pause, nullptr);
    acknowledged = true;
    ibv_ack_async_event(&event);
  });
  expect_equal(ibv_destroy_qp(pairs.b.qp), 0, "ibv_destroy_qp");
  expect(acknowledged, "ibv_destroy_qp returned before the acknowledgement");
  pairs.b.qp = nullptr;
  late.join();
}

void events_of_destroyed_queues_are_dropped(std::uint64_t seed) {
  opened_device device;
  channel_of_test channel(device);
  channel.set_nonblocking();
  {
    loop pairs(device, seed, {.channel = channel.made});
    arm(pairs.a.send_cq);
    cause_access_error(pairs);
    wait_until([&] { return channel.readable() && has_event(device.context); }, "two events");
  }
  expect(!channel.readable(), "the event of a destroyed completion queue");
  ibv_cq* of = nullptr;
  expect_equal(channel.take(of), EAGAIN, "the event of a destroyed completion queue");
  expect(!has_event(device.context), "the event of a destroyed queue pair");
}

void channel_in_use_is_busy(std::uint64_t seed) {
  opened_device device;
  channel_of_test channel(device);
  loop pairs(device, seed, {.channel = channel.made});
  expect_equal(ibv_destroy_comp_channel(channel.made), EBUSY, "destruction of a channel in use");
}

void opens_have_their_own_events(std::uint64_t seed) {
  opened_device first, second;
  expect(first.context != second.context, "two opens have two contexts");
  expect(first.context->async_fd != second.context->async_fd, "two opens have two descriptors");
  expect_equal(second.lid, first.lid, "LID of the second open");
  loop of_first(first, seed), of_second(second, seed);
  cause_access_error(of_second);
  expect_equal(next_event(second.context, "of the second open"), IBV_EVENT_QP_ACCESS_ERR, "event");
  expect(!has_event(first.context), "an event of the second open came to the first one");
  cause_access_error(of_first);
  expect_equal(next_event(first.context, "of the first open"), IBV_EVENT_QP_ACCESS_ERR, "event");
  expect(!has_event(second.context), "an event of the first open came to the second one");
}

}  // namespace

std::vector<test> channel_tests() {
  return {{"channel_is_a_descriptor", channel_is_a_descriptor},
          {"blocking_get_waits", blocking_get_waits},
          {"signals_interrupt_waits", signals_interrupt_waits},
          {"destroy_waits_for_acknowledgements", destroy_waits_for_acknowledgements},
          {"asynchronous_events_are_acknowledged", asynchronous_events_are_acknowledged},
          {"events_of_destroyed_queues_are_dropped", events_of_destroyed_queues_are_dropped},
          {"channel_in_use_is_busy", channel_in_use_is_busy},
          {"opens_have_their_own_events", opens_have_their_own_events}};
}

}  // namespace programs
