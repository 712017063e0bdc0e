// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Faults of the face that a review found.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "face.hpp"

namespace programs {

namespace {

/// A file without a name.
int make_file() {
  char name[] = "/tmp/freehca-face-XXXXXX";
  const int made = mkostemp(name, O_CLOEXEC);
  require(made >= 0, "mkostemp");
  unlink(name);
  return made;
}

std::int64_t size_of(int file) {
  struct stat now {};
  require(fstat(file, &now) == 0, "fstat");
  return now.st_size;
}

/// A signal that was sent is repeated by no access.
void sent_signals_end_the_program(std::uint64_t seed) {
  for (const int number : {SIGSEGV, SIGBUS}) {
    const pid_t child = fork_child([&] {
      opened_device device;
      loop(device, seed).write("a write");
      raise(number);
    });
    expect_equal(end_of_child(child), 1000 + number, "the end of a child by a sent signal");
  }
  opened_device device;
  loop(device, seed).write("a write of the parent");
}

struct sigaction before_chaining;
int* chained = nullptr;

/// A handler that hands each fault on to the handler that it has replaced, as crash reporters do.
void chaining_handlers_end_the_program(std::uint64_t seed) {
  void* const shared =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(shared != MAP_FAILED, "mmap");
  chained = static_cast<int*>(shared);
  const pid_t child = fork_child([&] {
    opened_device device;
    struct sigaction how {};
    how.sa_flags = SA_SIGINFO;
    how.sa_sigaction = [](int number, siginfo_t* what, void* context) {
      if (++*chained > 10) _exit(3);
      before_chaining.sa_sigaction(number, what, context);
    };
    require(sigaction(SIGSEGV, &how, &before_chaining) == 0, "sigaction");
    loop(device, seed).write("a write");  // registers memory
    *reinterpret_cast<volatile char*>(std::uintptr_t{8}) = 1;
  });
  expect_equal(end_of_child(child), 1000 + SIGSEGV, "the end of a child with a chaining handler");
  expect_equal(*chained, 1, "calls of the chaining handler");
  munmap(shared, sizeof(int));
  opened_device device;
  loop(device, seed).write("a write of the parent");
}

/// Runs the function in a thread whose cancellation is pending. It has to be cancelled in order.
void run_cancelled(void (*function)(void*), void* context) {
  struct task {
    void (*function)(void*);
    void* context;
  } task{function, context};
  pthread_t thread;
  require(pthread_create(
              &thread, nullptr,
              [](void* given) -> void* {
                const auto& own = *static_cast<struct task*>(given);
                pthread_cancel(pthread_self());
                own.function(own.context);
                pthread_testcancel();
                return nullptr;
              },
              &task) == 0,
          "pthread_create");
  void* result = nullptr;
  pthread_join(thread, &result);
  expect(result == PTHREAD_CANCELED, "the thread was cancelled");
}

void threads_are_cancelled_behind_an_open(std::uint64_t seed) {
  run_cancelled([](void*) { static_cast<void>(opened_device().lid); }, nullptr);
  opened_device device;
  loop(device, seed).write("a write afterwards");
}

/// A capture makes each packet a cancellation point.
void captured_threads_are_cancelled(std::uint64_t seed) {
  const int file = make_file();
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  setenv("FREEHCA_CAPTURE", path.c_str(), 1);
  opened_device device;
  loop pairs(device, seed);
  run_cancelled(
      [](void* of) {
        auto& posted = *static_cast<loop*>(of);
        for (unsigned i = 0; i < 1000; ++i) {
          static_cast<void>(posted.a.post(posted.write_request(1)));
          ibv_wc done;
          static_cast<void>(ibv_poll_cq(posted.a.send_cq, 1, &done));
        }
      },
      &pairs);
  expect_equal(pairs.a.state(), IBV_QPS_RTS, "state of the queue pair of a cancelled thread");
  expect(size_of(file) > 5000, "the capture has the packets");
  close(file);
}

/// Of the processes of a launcher, the first one alone writes reports.
void children_leave_the_capture(std::uint64_t seed) {
  const int file = make_file();
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  setenv("FREEHCA_CAPTURE", path.c_str(), 1);
  setenv("FREEHCA_PROCESS", std::to_string(getpid()).c_str(), 1);
  opened_device device;
  loop pairs(device, seed);
  pairs.write("a write of the parent");
  const std::int64_t before = size_of(file);
  expect(before > 5000, "the capture has the packets");
  const pid_t child = fork_child([seed] {
    opened_device own;
    loop child_pairs(own, seed);
    child_pairs.write("a write of the child");
    child_pairs.write("another write of the child");
  });
  expect_equal(end_of_child(child), 0, "the end of the child");
  expect_equal(size_of(file), before, "bytes of the capture");
  close(file);
}

/// The queues of a device that was closed keep on working. Their events lead nowhere.
void closed_devices_leave_their_queues(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  ibv_context* const second = ibv_open_device(device.context->device);
  require(second != nullptr, "ibv_open_device");
  ibv_pd* const pd = ibv_alloc_pd(second);
  ibv_cq* const cq = ibv_create_cq(second, 4, nullptr, nullptr, 0);
  require(pd != nullptr && cq != nullptr, "objects of the second open");
  ibv_qp_init_attr how{};
  how.send_cq = how.recv_cq = cq;
  how.qp_type = IBV_QPT_RC;
  how.cap = {4, 4, 1, 1, 0};
  ibv_qp* const left = ibv_create_qp(pd, &how);
  require(left != nullptr, "ibv_create_qp");
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  require(ibv_modify_qp(left, &attributes,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "INIT");
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.min_rnr_timer = 1;
  attributes.max_dest_rd_atomic = 1;
  endpoint other(device, {});
  const address own = other.own();
  attributes.dest_qp_num = own.qpn;
  attributes.rq_psn = own.psn;
  attributes.ah_attr = path_to(device, own);
  require(ibv_modify_qp(left, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "RTR");
  other.connect({device.lid, left->qp_num, 1, device.gid});
  expect_equal(ibv_close_device(second), 0, "ibv_close_device with objects");
  // A wrong key gives the queue pair that is left an asynchronous event.
  ibv_send_wr request = pairs.write_request(1);
  request.wr.rdma.rkey ^= 0xff00;
  require(other.post(request) == 0, "ibv_post_send");
  expect_equal(other.sent("a request with a wrong key").status, IBV_WC_REM_ACCESS_ERR, "status");
  pairs.write("a write afterwards");
}

/// A refusal takes no lock that a forked child could find held.
void children_are_refused_too(std::uint64_t) {
  opened_device device;
  std::atomic<bool> ended{false};
  std::thread refused([&] {
    while (!ended) expect_equal(ibv_set_ece(nullptr, nullptr), EOPNOTSUPP, "ibv_set_ece");
  });
  for (unsigned i = 0; i < 100; ++i) {
    const pid_t child = fork_child(
        [] { expect_equal(ibv_set_ece(nullptr, nullptr), EOPNOTSUPP, "ibv_set_ece of a child"); });
    expect_equal(end_of_child(child), 0, "the end of the child");
  }
  ended = true;
  refused.join();
}

void impossible_registrations_are_refused(std::uint64_t) {
  opened_device device;
  static char memory[4096];
  const auto refused = [&](std::size_t bytes, int error) {
    errno = 0;
    expect((ibv_reg_mr)(device.pd, memory, bytes, 0) == nullptr, "a region that cannot be");
    expect_equal(errno, error, "errno");
  };
  refused(0, EINVAL);
  refused(~std::size_t{0}, EINVAL);
  refused(std::size_t{1} << 62, ENOMEM);
}

/// A program that closes descriptors of the face's gets other files under their numbers.
void closed_descriptors_leave_files_alone(std::uint64_t seed) {
  constexpr int most = 64;
  run_pair(
      [seed](line& other) {
        opened_device device;
        loop pairs(device, seed);
        endpoint target(device, {});
        target.connect(other);
        other.send(std::pair{pairs.to.at(0), pairs.to_region->rkey});
        other.meet();
      },
      [seed](line& other) {
        opened_device device;
        loop pairs(device, seed);
        pair_options how;
        how.timeout = 8;
        how.retries = 1;
        endpoint requester(device, how);
        requester.connect(other);
        const auto [at, key] = other.receive<std::pair<std::uint64_t, std::uint32_t>>();
        for (int i = 3; i < most; ++i)
          if (i != other.descriptor()) close(i);
        int files[most];
        for (int& file : files) file = make_file();
        ibv_send_wr request = pairs.write_request(1);
        request.wr.rdma = {at, key};
        require(requester.post(request) == 0, "ibv_post_send");
        expect(requester.sent("a request without a fabric").status != IBV_WC_SUCCESS, "status");
        for (const int file : files) expect_equal(size_of(file), 0, "bytes of the program's file");
        other.meet();
        end_child();
      });
}

}  // namespace

std::vector<test> mended_tests() {
  return {{"sent_signals_end_the_program", sent_signals_end_the_program},
          {"chaining_handlers_end_the_program", chaining_handlers_end_the_program},
          {"threads_are_cancelled_behind_an_open", threads_are_cancelled_behind_an_open},
          {"captured_threads_are_cancelled", captured_threads_are_cancelled},
          {"children_leave_the_capture", children_leave_the_capture},
          {"closed_devices_leave_their_queues", closed_devices_leave_their_queues},
          {"children_are_refused_too", children_are_refused_too},
          {"impossible_registrations_are_refused", impossible_registrations_are_refused},
          {"closed_descriptors_leave_files_alone", closed_descriptors_leave_files_alone}};
}

}  // namespace programs
