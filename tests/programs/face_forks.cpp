// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// fork() and exec() while the device is open.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "face.hpp"

namespace programs {

namespace {

/// Every kind of object, made before the fork.
struct all_objects {
  all_objects(opened_device& device, std::uint64_t seed)
      : channel(ibv_create_comp_channel(device.context)),
        pairs(device, seed, {.channel = channel}) {
    ibv_srq_init_attr shared{};
    shared.attr = {8, 1, 0};
    srq = ibv_create_srq(device.pd, &shared);
    ibv_ah_attr how = path_to(device, pairs.a.own());
    ah = ibv_create_ah(device.pd, &how);
    require(channel != nullptr && srq != nullptr && ah != nullptr, "objects before the fork");
  }
  void destroy() {
    pairs.a.destroy();
    pairs.b.destroy();
    expect_equal(ibv_destroy_srq(srq), 0, "ibv_destroy_srq");
    expect_equal(ibv_destroy_ah(ah), 0, "ibv_destroy_ah");
    expect_equal(ibv_destroy_comp_channel(channel), 0, "ibv_destroy_comp_channel");
  }
  ibv_comp_channel* channel;
  loop pairs;
  ibv_srq* srq;
  ibv_ah* ah;
};

void expect_dead(opened_device& device, all_objects& made) {
  expect(made.pairs.a.post(made.pairs.write_request(1)) != 0, "ibv_post_send of a dead object");
  expect(made.pairs.a.post_receive(1, made.pairs.list) != 0, "ibv_post_recv of a dead object");
  ibv_wc done{};
  expect(ibv_poll_cq(made.pairs.a.send_cq, 1, &done) < 0, "ibv_poll_cq of a dead object");
  expect(ibv_req_notify_cq(made.pairs.a.send_cq, 0) != 0, "ibv_req_notify_cq of a dead object");
  char byte[8] = {};
  expect(ibv_reg_mr(device.pd, byte, sizeof byte, 0) == nullptr && errno == ENODEV,
         "ibv_reg_mr of a dead protection domain");
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_ERR;
  expect(ibv_modify_qp(made.pairs.a.qp, &to, IBV_QP_STATE) != 0, "ibv_modify_qp of a dead object");
}

void moves_data(opened_device& device, line& other, std::uint64_t seed, bool sends) {
  endpoint pair(device, {});
  buffer memory(sends ? seed : seed + 1, 3000);
  ibv_mr* const region = memory.register_part(device.pd, 0, 3000, IBV_ACCESS_LOCAL_WRITE);
  pair.connect(other);
  ibv_sge list{memory.at(0), 3000, region->lkey};
  if (!sends) require(pair.post_receive(1, list) == 0, "ibv_post_recv");
  other.meet();
  if (sends) {
    ibv_send_wr request{};
    request.sg_list = &list;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    require(pair.post(request) == 0, "ibv_post_send");
    expect_equal(pair.sent("a send").status, IBV_WC_SUCCESS, "status of a send");
  } else {
    expect_equal(pair.received("a receive").status, IBV_WC_SUCCESS, "status of a receive");
    memory.expected = pattern(seed, 3000);
    memory.expect_bytes("what the child has sent");
  }
  other.meet();
  pair.destroy();
}

/// The objects of the parent are dead in the child, and the parent's go on.
void forks_with_objects(std::uint64_t seed) {
  opened_device device;
  all_objects made(device, seed);
  // A completion event that nobody has taken when the process forks.
  require(ibv_req_notify_cq(made.pairs.a.send_cq, 0) == 0, "ibv_req_notify_cq");
  made.pairs.write("a write before the fork");
  fcntl(made.channel->fd, F_SETFL, O_NONBLOCK);
  run_pair(
      [&](line& other) {
        other.meet();
        ibv_cq* of = nullptr;
        void* context = nullptr;
        expect(ibv_get_cq_event(made.channel, &of, &context) == 0 && of == made.pairs.a.send_cq,
               "the parent's event after the child has destroyed its objects");
        if (of != nullptr) ibv_ack_cq_events(of, 1);
        made.pairs.write("a write after the fork");
        moves_data(device, other, seed, false);
      },
      [&](line& other) {
        expect_dead(device, made);
        made.destroy();
        for (buffer* const memory : {&made.pairs.from, &made.pairs.to}) {
          for (ibv_mr* const region : memory->regions)
            expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr of a dead object");
          memory->regions.clear();
        }
        expect_equal(ibv_dealloc_pd(device.pd), 0, "ibv_dealloc_pd of a dead object");
        expect_equal(ibv_close_device(device.context), 0, "ibv_close_device of a dead object");
        opened_device fresh;
        other.meet();
        moves_data(fresh, other, seed, true);
      });
  made.destroy();
}

/// A grandchild of a process that has opened the device, in each generation.
void forks_again(std::uint64_t seed) {
  opened_device device;
  const pid_t child = fork_child([&] {
    opened_device second;
    loop(second, seed).write("a write in the child");
    const pid_t grandchild = fork_child([&] {
      opened_device third;
      loop(third, seed).write("a write in the grandchild");
    });
    expect_equal(end_of_child(grandchild), 0, "the end of the grandchild");
    loop(second, seed).write("another write in the child");
  });
  expect_equal(end_of_child(child), 0, "the end of the child");
  loop(device, seed).write("a write in the parent");
}

std::uint64_t guid_of(const opened_device& device) {
  ibv_device_attr found{};
  require(ibv_query_device(device.context, &found) == 0, "ibv_query_device");
  return found.node_guid;
}

/// The GUID names the slot of the fabric. A process that is alone has the first one.
void exec_frees_the_slot(std::uint64_t seed) {
  opened_device device;
  loop(device, seed).write("a write before exec");
  const std::string guid = std::to_string(guid_of(device));
  setenv("GUID_BEFORE_EXEC", guid.c_str(), 1);
  execl("/proc/self/exe", "face", "after_exec", nullptr);
  require(false, "execl");
}

void after_exec(std::uint64_t seed) {
  const char* const before = std::getenv("GUID_BEFORE_EXEC");
  if (before == nullptr) return;  // named by hand
  opened_device device;
  expect(std::to_string(guid_of(device)) == before, "the slot is the one before exec");
  loop(device, seed).write("a write after exec");
}

/// Waits until the parent is gone, and opens the device.
void open_after(pid_t parent, int result) {
  while (getppid() == parent) usleep(1000);
  opened_device device;
  loop(device, 1).write("a write after the parent's end");
  const char good = '+';
  require(failures() == 0 && write(result, &good, 1) == 1, "write");
  std::exit(0);  // leaves the fabric
}

/// The child has copies of all descriptors. They must not keep the device from others.
void children_outlive_their_parent(std::uint64_t seed) {
  int ends[2];
  require(pipe(ends) == 0, "pipe");
  const pid_t parent = fork_child([&] {
    opened_device device;
    loop(device, seed).write("a write of the parent");
    const pid_t self = getpid();
    fork_child([&] { open_after(self, ends[1]); });
    _exit(0);
  });
  expect_equal(end_of_child(parent), 0, "the end of the parent");
  close(ends[1]);
  char got = 0;
  expect_equal(read(ends[0], &got, 1), 1, "a byte of the child");
}

}  // namespace

std::vector<test> fork_tests() {
  return {{"forks_with_objects", forks_with_objects},
          {"forks_again", forks_again},
          {"exec_frees_the_slot", exec_frees_the_slot},
          {"after_exec", after_exec},
          {"children_outlive_their_parent", children_outlive_their_parent}};
}

}  // namespace programs
