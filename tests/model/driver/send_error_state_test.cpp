// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the driver's record of a queue pair says after a completion in error, and what may be posted
// then.
#include "rc_pair.hpp"

namespace freehca {
namespace {

using layouts::qp_service;
using layouts::qp_state;
using queues::completion_status;

class after_an_error : public ::testing::TestWithParam<qp_service> {
 protected:
  after_an_error()
      : pair(rig, {.service = GetParam(), .sends = 16, .receives = 16, .gather = 4, .scatter = 4}),
        buffer(rig, pair.domain, 4096, 0,
               {.local_write = true, .remote_read = true, .remote_write = true}) {
    pair.connect();
    if (GetParam() != qp_service::ud) return;
    way = rig.objects
              .create<address_handle>(
                  {.pd = pair.domain, .address = infiniband_path{.dlid = rig.adapter.port(1).lid}})
              .value();
  }
  ~after_an_error() override {
    if (way) {
      EXPECT_TRUE(rig.objects.destroy(way).ok());
    }
    for (qp_handle& q : pair.queue) {
      destroy_queue_pair d;
      d.start(rig.objects, q);
      EXPECT_TRUE(rig.await(d).ok());
      q = {};
    }
  }
  status send(std::uint32_t key) {
    const status posted = post(key);
    if (posted.ok()) pair.send(0).ring();
    return posted;
  }
  status post(std::uint32_t key) {
    queues::data_entry data = buffer.entry(0, 64);
    data.lkey = key;
    if (GetParam() != qp_service::ud) return pair.send(0).post(queues::send{.data = data});
    return pair.send(0).post(queues::send_datagram{.to = {.at = &rig.objects.find(way)->address,
                                                          .qpn = qpn_of(rig.objects, pair.queue[1]),
                                                          .qkey = testing::rc_pair::qkey},
                                                   .data = data});
  }
  status receive(unsigned side, std::uint32_t key) {
    queues::data_entry data = buffer.entry(1024, 512);
    data.lkey = key;
    return pair.receive(side).post_and_ring({.list = &data, .entries = 1});
  }
  qp_state state(unsigned side) const { return rig.objects.find(pair.queue[side])->qp_state; }

  testing::verbs_rig rig;
  testing::rc_pair pair;
  testing::registered_buffer buffer;
  ah_handle way{};
};

TEST_P(after_an_error, of_a_send_an_unreliable_queue_pair_is_seen_to_send_no_more) {
  ASSERT_TRUE(receive(0, buffer.key).ok());
  ASSERT_TRUE(send(0x12345678).ok());
  EXPECT_EQ(state(0), qp_state::rts) << "nobody has polled";
  EXPECT_EQ(pair.next(0).status, completion_status::local_protection);
  const bool reliable = GetParam() == qp_service::rc;
  EXPECT_EQ(state(0), reliable ? qp_state::error : qp_state::sq_error);
  // In ERROR a request is taken and flushed; in SQE it is refused, and receives go on.
  EXPECT_EQ(send(buffer.key).is(driver_error::bad_state), !reliable);
  EXPECT_TRUE(receive(0, buffer.key).ok());
  query_queue_pair q;
  q.start(rig.objects, pair.queue[0]);
  ASSERT_TRUE(rig.await(q).ok());
  EXPECT_EQ(state(0), reliable ? qp_state::error : qp_state::sq_error) << "as the device says";
  EXPECT_EQ(send(buffer.key).is(driver_error::bad_state), !reliable);
  EXPECT_TRUE(pair.move(0, qp_state::rts).is(driver_error::bad_state));
  // By RESET it begins anew.
  for (const qp_state to : {qp_state::reset, qp_state::init, qp_state::rtr, qp_state::rts})
    ASSERT_TRUE(pair.move(0, to).ok()) << static_cast<unsigned>(to);
  EXPECT_TRUE(send(buffer.key).ok() || reliable);
}

TEST_P(after_an_error, of_a_receive_every_queue_pair_is_seen_in_error) {
  ASSERT_TRUE(receive(1, 0x12345678).ok());
  ASSERT_TRUE(send(buffer.key).ok());
  EXPECT_FALSE(pair.next(1).ok());
  EXPECT_EQ(state(1), qp_state::error);
}

TEST_P(after_an_error, found_between_a_post_and_its_ring_the_rest_is_not_rung) {
  if (GetParam() == qp_service::rc) return;
  ASSERT_TRUE(send(0x12345678).ok());
  rig.run([] { return false; }, clock::milliseconds(5));
  ASSERT_TRUE(post(buffer.key).ok()) << "nobody has polled";
  queues::work_completion w;
  ASSERT_EQ(pair.cq(0).poll(&w, 1), 1u);
  EXPECT_EQ(w.status, completion_status::local_protection);
  // The device answers a doorbell of a queue in this state with a flush.
  pair.send(0).ring();
  rig.run([] { return false; }, clock::milliseconds(5));
  EXPECT_EQ(pair.cq(0).poll(&w, 1), 0u);
  EXPECT_EQ(state(0), qp_state::sq_error);
  EXPECT_TRUE(send(buffer.key).is(driver_error::bad_state));
}

INSTANTIATE_TEST_SUITE_P(services, after_an_error,
                         ::testing::Values(qp_service::rc, qp_service::uc, qp_service::ud),
                         [](const auto& p) {
                           return p.param == qp_service::rc   ? "rc"
                                  : p.param == qp_service::uc ? "uc"
                                                              : "ud";
                         });

}  // namespace
}  // namespace freehca
