// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Multicast groups: who gets a datagram to a group, and what is refused.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "face.hpp"
#include "processes.hpp"

namespace programs {

namespace {

constexpr std::uint16_t group_lid = 0xc001;
constexpr std::uint32_t grh_bytes = 40, message_bytes = 100;

ibv_gid group(unsigned char n) {
  ibv_gid g{};
  g.raw[0] = 0xff;
  g.raw[1] = 0x12;
  g.raw[15] = n;
  return g;
}

const pair_options datagrams{.type = IBV_QPT_UD};

/// Three datagram queue pairs on one port, each with a receive that is as large as a datagram.
struct world {
  explicit world(std::uint64_t seed)
      : memory(seed, 4 * 1024),
        region(memory.register_part(device.pd, 0, 4 * 1024, IBV_ACCESS_LOCAL_WRITE)) {
    for (endpoint* const e : {&a, &b, &c}) e->connect(e->own());
  }
  ibv_sge part(unsigned n, std::uint32_t bytes) const {
    return {memory.at(n * 1024), bytes, region->lkey};
  }
  void send(unsigned char to) {
    ibv_ah_attr path{};
    path.dlid = group_lid;
    path.port_num = 1;
    path.is_global = 1;
    path.grh.dgid = group(to);
    path.grh.hop_limit = 1;
    ibv_ah* const ah = ibv_create_ah(device.pd, &path);
    require(ah != nullptr, "ibv_create_ah of a group");
    ibv_sge list = part(0, message_bytes);
    ibv_send_wr request{};
    request.sg_list = &list;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud = {ah, 0xffffff, common_qkey};
    require(a.post(request) == 0, "ibv_post_send to a group");
    expect_equal(a.sent("a datagram to a group").status, IBV_WC_SUCCESS, "status of a send");
    expect_equal(ibv_destroy_ah(ah), 0, "ibv_destroy_ah");
  }
  void expect_arrival(endpoint& at, unsigned n) {
    const ibv_wc done = at.received("a datagram to a group");
    expect_equal(done.status, IBV_WC_SUCCESS, "status of a receive");
    expect_equal(done.byte_len, grh_bytes + message_bytes, "bytes of a receive");
    expect((done.wc_flags & IBV_WC_GRH) != 0, "a datagram to a group has a GRH");
    expect(std::memcmp(&memory.bytes[n * 1024 + grh_bytes], &memory.bytes[0], message_bytes) == 0,
           "the bytes of a datagram to a group");
  }
  void expect_nothing(endpoint& at, const std::string& what) {
    ibv_wc none;
    usleep(20'000);
    expect_equal(ibv_poll_cq(at.receive_cq, 1, &none), 0, what);
  }

  opened_device device;
  buffer memory;
  ibv_mr* region;
  endpoint a{device, datagrams}, b{device, datagrams}, c{device, datagrams};
};

void members_get_what_is_sent_to_their_group(std::uint64_t seed) {
  world all(seed);
  const ibv_gid one = group(1), two = group(2);
  expect_equal(ibv_attach_mcast(all.b.qp, &one, group_lid), 0, "ibv_attach_mcast");
  expect_equal(ibv_attach_mcast(all.c.qp, &two, group_lid), 0, "ibv_attach_mcast");
  require(all.b.post_receive(1, all.part(1, 1024)) == 0, "ibv_post_recv");
  require(all.c.post_receive(2, all.part(2, 1024)) == 0, "ibv_post_recv");
  all.send(1);
  all.expect_arrival(all.b, 1);
  all.expect_nothing(all.c, "completions of a queue pair in another group");
  all.send(2);
  all.expect_arrival(all.c, 2);
  expect_equal(ibv_detach_mcast(all.b.qp, &one, group_lid), 0, "ibv_detach_mcast");
  require(all.b.post_receive(1, all.part(1, 1024)) == 0, "ibv_post_recv");
  all.send(1);
  all.expect_nothing(all.b, "completions of a queue pair that was detached");
  expect_equal(ibv_detach_mcast(all.c.qp, &two, group_lid), 0, "ibv_detach_mcast");
}

/// What Linux answers.
void groups_that_cannot_be_are_refused(std::uint64_t seed) {
  world all(seed);
  const ibv_gid one = group(1);
  ibv_gid host = one;
  host.raw[0] = 0xfe;
  ibv_qp* const qp = all.b.qp;
  expect_equal(ibv_attach_mcast(qp, &host, group_lid), EINVAL, "a GID that is no group");
  if (!all.device.ethernet) {
    expect_equal(ibv_attach_mcast(qp, &one, 0xbfff), EINVAL, "a LID that is no group");
    expect_equal(ibv_attach_mcast(qp, &one, 0xffff), EINVAL, "the permissive LID");
  }
  expect_equal(ibv_detach_mcast(qp, &one, group_lid), EINVAL, "never attached");
  endpoint connection(all.device, {});
  expect_equal(ibv_attach_mcast(connection.qp, &one, group_lid), EINVAL, "a connection");
  expect_equal(ibv_attach_mcast(qp, &one, group_lid), 0, "ibv_attach_mcast");
  expect_equal(ibv_attach_mcast(qp, &one, group_lid), 0, "attached already");
  expect_equal(ibv_attach_mcast(qp, &one, group_lid + 1), 0, "attached with another LID");
  expect_equal(ibv_destroy_qp(qp), EBUSY, "ibv_destroy_qp of an attached queue pair");
  expect_equal(ibv_detach_mcast(qp, &one, group_lid + 2), EINVAL, "a LID of no attachment");
  expect_equal(ibv_detach_mcast(qp, &one, group_lid), 0, "ibv_detach_mcast");
  require(all.b.post_receive(1, all.part(1, 1024)) == 0, "ibv_post_recv");
  all.send(1);
  all.expect_arrival(all.b, 1);
  expect_equal(ibv_detach_mcast(qp, &one, group_lid + 1), 0, "ibv_detach_mcast");
  expect_equal(ibv_detach_mcast(qp, &one, group_lid + 1), EINVAL, "detached already");
  ibv_device_attr can{};
  require(ibv_query_device(all.device.context, &can) == 0, "ibv_query_device");
  expect(can.max_mcast_grp > 0 && can.max_mcast_qp_attach > 0 && can.max_total_mcast_qp_attach > 0,
         "the limits of groups");
}

void a_sender_in_a_group_gets_its_own_datagram(std::uint64_t seed) {
  world all(seed);
  const ibv_gid one = group(1);
  expect_equal(ibv_attach_mcast(all.a.qp, &one, group_lid), 0, "ibv_attach_mcast");
  require(all.a.post_receive(1, all.part(1, 1024)) == 0, "ibv_post_recv");
  all.send(1);
  all.expect_arrival(all.a, 1);
  expect_equal(ibv_detach_mcast(all.a.qp, &one, group_lid), 0, "ibv_detach_mcast");
}

/// Both processes have the same bytes in their memory.
void members_in_another_process_get_it_too(std::uint64_t seed) {
  run_pair(
      [&](line& other) {
        world all(seed);
        other.meet();
        all.send(1);
        other.meet();
        all.send(1);
        other.meet();
      },
      [&](line& other) {
        world all(seed);
        const ibv_gid one = group(1);
        expect_equal(ibv_attach_mcast(all.b.qp, &one, group_lid), 0, "ibv_attach_mcast");
        require(all.b.post_receive(1, all.part(1, 1024)) == 0, "ibv_post_recv");
        other.meet();
        all.expect_arrival(all.b, 1);
        expect_equal(ibv_detach_mcast(all.b.qp, &one, group_lid), 0, "ibv_detach_mcast");
        require(all.b.post_receive(1, all.part(1, 1024)) == 0, "ibv_post_recv");
        other.meet();
        other.meet();
        all.expect_nothing(all.b, "completions of a queue pair that was detached");
      });
}

}  // namespace

std::vector<test> group_tests() {
  return {
      {"members_get_what_is_sent_to_their_group", members_get_what_is_sent_to_their_group},
      {"groups_that_cannot_be_are_refused", groups_that_cannot_be_are_refused},
      {"a_sender_in_a_group_gets_its_own_datagram", a_sender_in_a_group_gets_its_own_datagram},
      {"members_in_another_process_get_it_too", members_in_another_process_get_it_too},
  };
}

}  // namespace programs
