// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A host that writes noise where queue pairs look: the model neither crashes nor hangs, and serves
// the queue pairs that are in order. Seeded, so that a failure repeats.
#include <random>

#include "transport_fixture.hpp"
#include "works_after_reset.hpp"

namespace freehca::model::test {

using layouts::opcode;

namespace {

class transport_hostile : public transport_fixture, public testing::WithParamInterface<unsigned> {
 protected:
  std::mt19937 engine{GetParam()};
  std::uint32_t random() { return static_cast<std::uint32_t>(engine()); }

  std::byte noise() {
    const unsigned kind = random() % 4;
    return static_cast<std::byte>(kind == 0   ? random() & 0xff
                                  : kind == 1 ? 0xff
                                  : kind == 2 ? 0
                                              : random() % 8);
  }
  /// Two queue pairs in order, beside those that are not: their data arrives.
  void expect_service(std::uint32_t first) {
    events(layouts::event_type::none);
    test_qp a = make_qp(first), b = make_qp(first + 1);
    to_rts(a, b.number);
    to_rts(b, a.number);
    fill(region_start + 0x200000, 5000, first);
    send(a,
         transfer(wqe_opcode::rdma_write, 5000, region_start + 0x200000, region_start + 0x300000));
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    expect_pattern(region_start + 0x300000, 5000, first);
  }
  /// Memory that the adapter was never told of, between what it was.
  static constexpr std::size_t private_pages = 16;
  std::uint64_t private_memory() {
    const std::uint64_t at = host->allocate(private_pages);
    std::memset(host->at(at), 0x3c, private_pages * 4096);
    return at;
  }
  void expect_untouched(std::uint64_t at) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < private_pages * 4096; ++i)
      changed += *host->at(at + i) != std::byte{0x3c};
    EXPECT_EQ(changed, 0u);
  }
  void drain() {
    layouts::image<layouts::cqe> e;
    while (driver->next_completion(cq, e)) driver->tell_consumer(cq);
    events(layouts::event_type::none);
  }
  void reset(test_qp& qp) {
    // One whose context was refused is in RESET already.
    const bool is_reset = state_of(qp) == qp_state::reset;
    EXPECT_EQ(driver->command(opcode::to_rst_qp, 0, qp.number, 2).status,
              is_reset ? command_status::bad_qp_state : command_status::ok);
    qp.sent = qp.received = 0;
    host->store(qp.record, layouts::image<layouts::rq_doorbell_record>{});
    for (std::uint32_t i = 0; i < test_qp::entries; ++i)
      put(qp, i * test_qp::stride,
          layouts::image<layouts::wqe_ctrl>{}.set<&layouts::wqe_ctrl::owner>(true));
  }
};

}  // namespace

TEST_P(transport_hostile, noise_in_the_queues) {
  const qp_service service = GetParam() % 3 == 0   ? qp_service::ud
                             : GetParam() % 3 == 1 ? qp_service::rc
                                                   : qp_service::mlx;
  const std::uint64_t before = private_memory();
  test_qp a = make_qp(0x100, service), b = make_qp(0x101, service);
  const std::uint64_t behind = private_memory();
  for (unsigned life = 0; life < 40; ++life) {
    to_rts(a, b.number);
    to_rts(b, a.number);
    for (unsigned i = 0; i < 30; ++i) {
      test_send s;
      s.opcode = static_cast<wqe_opcode>(random() % 32);
      s.address = region_start + random() % 4096;
      s.bytes = random() % 3000;
      s.lkey = random() % 8 == 0 ? random() : key;
      s.remote_address = region_start + 0x10000;
      s.rkey = random() % 8 == 0 ? random() : key;
      s.dqpn = b.number;
      s.qkey = qkey;
      const std::size_t at = std::size_t{a.sent % test_qp::entries} * test_qp::stride;
      post_send(a, s);
      for (unsigned n = random() % 6; n != 0; --n)
        *driver->bytes_of(a.ring, at + random() % test_qp::stride) = noise();
      if (random() % 2 == 0)
        post_receive(b, region_start + 0x20000, random() % 5000, random() % 8 == 0 ? 1 : key);
      if (random() % 10 == 0) {
        layouts::image<layouts::rq_doorbell_record> r;
        r.set<&layouts::rq_doorbell_record::wqe_counter>(random() & 0xffff);
        host->store(b.record, r);
      }
      ring(a);
      host->advance(random() % 100'000);
      drain();
    }
    host->advance(1'000'000'000);
    drain();
    reset(a);
    reset(b);
    EXPECT_EQ(driver->counter_named("queue_pairs"), 0u);
    EXPECT_EQ(driver->counter_named("send_requests_held"), 0u);
  }
  expect_service(0x110);
  expect_untouched(before);
  expect_untouched(behind);
  expect_works_after_reset(*host, *hca);
}

TEST_P(transport_hostile, noise_in_the_contexts) {
  test_qp a = make_qp(0x100);
  for (unsigned life = 0; life < 300; ++life) {
    const auto damaged = [&](layouts::image<layouts::qpc> c) {
      for (unsigned n = random() % 12; n != 0; --n) c.data()[random() % c.size()] = noise();
      c.set<&layouts::qpc::local_qpn>(a.number);
      if (random() % 2 == 0) c.set<&layouts::qpc::cqn_send>(cqn).set<&layouts::qpc::cqn_recv>(cqn);
      return c;
    };
    const auto mask = static_cast<std::uint32_t>(random());
    modify(opcode::rst2init_qp, a.number, damaged(first_context(a)), mask);
    modify(opcode::init2rtr_qp, a.number, damaged(ready_context(a, a.number)), mask);
    modify(opcode::rtr2rts_qp, a.number, damaged(ready_context(a, a.number)), mask);
    test_send s;
    s.opcode = wqe_opcode::rdma_write;
    s.address = s.remote_address = region_start;
    s.bytes = 100'000;
    s.lkey = s.rkey = key;
    send(a, s);
    post_receive(a, region_start, 4096, key);
    modify(opcode::rts2rts_qp, a.number, damaged(ready_context(a, a.number)), mask);
    host->advance(1'000'000);
    driver->command(opcode::rts2sqd_qp, 0, a.number);
    host->advance(1'000'000);
    modify(opcode::sqd2sqd_qp, a.number, damaged(ready_context(a, a.number)), mask);
    host->advance(1'000'000);
    drain();
    reset(a);
  }
  expect_service(0x110);
  expect_works_after_reset(*host, *hca);
}

TEST_P(transport_hostile, context_memory_taken_away_under_work) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  to_rts(a, b.number);
  to_rts(b, a.number);
  test_send s;
  s.opcode = wqe_opcode::rdma_read;
  s.address = region_start;
  s.remote_address = region_start + 0x100000;
  s.bytes = 1u << 18;
  s.lkey = s.rkey = key;
  for (unsigned i = 0; i < 8; ++i) post_send(a, s);
  ring(a);
  hca->on_timer();
  ASSERT_EQ(driver->command(opcode::unmap_icm, test_driver::qpc, 64).status, command_status::ok);
  host->advance(10'000'000'000);
  drain();
  hca->reset();
  host->advance(10'000'000'000);
  EXPECT_TRUE(host->idle());
  EXPECT_GT(hca->complaints(), 0u);
  expect_works_after_reset(*host, *hca);
}

INSTANTIATE_TEST_SUITE_P(seeds, transport_hostile, testing::Range(1u, 7u));

}  // namespace freehca::model::test
