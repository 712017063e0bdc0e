// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/cq.hpp>
#include <freehca/texts/names.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using work_requests::send_opcode;

using namespace layouts;
using testing::doorbell_page;
using testing::ring_memory;

/// Two queue pairs that complete to one queue.
struct cq_test : ::testing::TestWithParam<unsigned> {
  static constexpr unsigned log_entries = 4;
  static constexpr std::uint32_t qpn[2] = {0x40, 0x41};
  unsigned entry_bytes = GetParam();
  ring_memory memory{cq::ring_bytes(log_entries, 64)}, record{64};
  doorbell_page doorbells;
  qp_rings* slots[4];
  qp_directory directory;
  qp_rings pair[2];
  ring_memory sends[2] = {ring_memory(1 << 14), ring_memory(1 << 14)};
  ring_memory receives[2] = {ring_memory(1 << 12), ring_memory(1 << 12)};
  ring_memory records[2] = {ring_memory(64), ring_memory(64)};
  std::vector<posted_request> sent[2];
  std::vector<posted_request> posted[2];
  cq queue;
  std::uint32_t produced = 0;

  void SetUp() override {
    directory.open(slots, 4);
    const sq_shape s = sq_shape_for(16, 1, 0).value();
    const rq_shape r = rq_shape_for(16, 1).value();
    for (unsigned i = 0; i < 2; ++i) {
      sent[i].resize(s.entries());
      posted[i].resize(r.entries());
      pair[i].qpn = qpn[i];
      ASSERT_TRUE(pair[i]
                      .send
                      .open({sends[i].region(s.bytes()), s, sent[i].data(), doorbells.region(),
                             qpn[i], 1, 0, 1u << 30, opcodes_of_a_connection(true)})
                      .ok());
      ASSERT_TRUE(
          pair[i]
              .receive
              .open({receives[i].region(r.bytes()), r, posted[i].data(), records[i].region(64), 1})
              .ok());
      pair[i].send.accept(true);
      pair[i].receive.accept(true);
      ASSERT_TRUE(directory.add(pair[i]).ok());
    }
    ASSERT_TRUE(queue
                    .open({memory.region(cq::ring_bytes(log_entries, entry_bytes)), log_entries,
                           entry_bytes, record.region(64), doorbells.region(), 0x99, &directory})
                    .ok());
  }

  void produce(image<cqe> e) {
    e.set<&cqe::owner>((produced >> log_entries & 1) != 0);
    memory.write((produced & 15) * entry_bytes + (entry_bytes == 64 ? cqe64_offset : 0), e);
    ++produced;
  }
  static image<cqe> send_done(std::uint32_t number, std::uint32_t index,
                              wqe_opcode opcode = wqe_opcode::send) {
    image<cqe> e;
    e.set<&cqe::qpn>(number).set<&cqe::wqe_index>(index & 0xffff).set<&cqe::is_send>(true);
    e.set<&cqe::opcode>(static_cast<std::uint64_t>(opcode));
    return e;
  }
  static image<cqe> received(std::uint32_t number, std::uint32_t index, std::uint32_t bytes,
                             cqe_opcode opcode = cqe_opcode::recv_send) {
    image<cqe> e;
    e.set<&cqe::qpn>(number).set<&cqe::wqe_index>(index & 0xffff).set<&cqe::byte_count>(bytes);
    e.set<&cqe::opcode>(static_cast<std::uint64_t>(opcode));
    return e;
  }
  static image<cqe> failed(std::uint32_t number, std::uint32_t index, bool send, cqe_syndrome why) {
    image<cqe_error> e;
    e.set<&cqe_error::qpn>(number).set<&cqe_error::wqe_index>(index).set<&cqe_error::is_send>(send);
    e.set<&cqe_error::opcode>(cqe_opcode::error).set<&cqe_error::syndrome>(why);
    e.set<&cqe_error::vendor_syndrome>(0x81);
    return image<cqe>::from_bytes(e.data());
  }
  work_completion one() {
    work_completion w;
    EXPECT_EQ(queue.poll(&w, 1), 1u);
    return w;
  }
};

TEST_P(cq_test, a_fresh_ring_is_the_devices) {
  work_completion w;
  EXPECT_FALSE(queue.pending());
  EXPECT_EQ(queue.poll(&w, 1), 0u);
}

TEST_P(cq_test, completions_come_round_after_round_and_the_record_follows) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(
        work_requests::post(pair[0].send, {.wr_id = i, .opcode = send_opcode::rdma_write}).ok());
    produce(send_done(qpn[0], i, wqe_opcode::rdma_write));
    const work_completion w = one();
    EXPECT_EQ(w.wr_id, i);
    EXPECT_TRUE(w.ok());
    EXPECT_EQ(w.opcode, work_opcode::rdma_write);
    EXPECT_EQ(record.word(0), i + 1);
    ASSERT_FALSE(queue.pending());
  }
}

TEST_P(cq_test, polls_no_more_than_asked) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(work_requests::post(pair[0].send, {.wr_id = i}).ok());
    produce(send_done(qpn[0], i));
  }
  work_completion w[8];
  EXPECT_EQ(queue.poll(w, 3), 3u);
  EXPECT_EQ(record.word(0), 3u);
  EXPECT_EQ(queue.poll(w, 8), 2u);
  EXPECT_EQ(w[1].wr_id, 4u);
}

TEST_P(cq_test, receives_report_bytes_source_and_immediate) {
  const data_entry buffer{0x1000, 100, 1};
  for (std::uint32_t i = 0; i < 3; ++i)
    ASSERT_TRUE(pair[1].receive.post({.wr_id = 70 + i, .list = &buffer, .entries = 1}).ok());
  auto e = received(qpn[1], 0, 100, cqe_opcode::recv_send_imm);
  e.set<&cqe::immediate>(0xdeadbeef)
      .set<&cqe::remote_qpn>(0x77)
      .set<&cqe::slid>(5)
      .set<&cqe::sl>(3);
  produce(e);
  work_completion w = one();
  EXPECT_EQ(w.wr_id, 70u);
  EXPECT_EQ(w.byte_count, 100u);
  EXPECT_TRUE(w.has_immediate());
  EXPECT_EQ(w.immediate(), 0xdeadbeefu);
  EXPECT_EQ(w.source_qpn(), 0x77u);
  EXPECT_EQ(w.slid(), 5);
  EXPECT_EQ(w.sl(), 3);
  produce(received(qpn[1], 1, 1 << 20, cqe_opcode::recv_rdma_write_imm));
  w = one();
  EXPECT_EQ(w.opcode, work_opcode::receive_rdma_with_immediate);
  EXPECT_EQ(w.byte_count, 1u << 20) << "a write does not go to the receive's buffer";
  produce(received(qpn[1], 2, 101));
  w = one();
  EXPECT_EQ(w.status, completion_status::implausible) << "more than was posted";
  EXPECT_EQ(w.byte_count, 0u);
}

TEST_P(cq_test, the_rest_of_an_entry_is_read_on_demand) {
  for (std::uint64_t id = 1; id <= 2; ++id) ASSERT_TRUE(pair[0].receive.post({.wr_id = id}).ok());
  produce(received(qpn[0], 0, 0, cqe_opcode::recv_send_inval)
              .set<&cqe::immediate>(0x8765'4300)
              .set<&cqe::sl>(5));
  work_completion w = one();
  EXPECT_FALSE(w.has_immediate());
  EXPECT_TRUE(w.has_invalidated());
  EXPECT_EQ(w.immediate(), 0x8765'4300u);
  EXPECT_FALSE(w.has_grh());
  EXPECT_EQ(w.sl(), 5);
  produce(received(qpn[0], 1, 0).set<&cqe::grh>(true).set<&cqe::immediate>(0x7f));
  w = one();
  EXPECT_TRUE(w.has_grh());
  EXPECT_EQ(w.pkey_index(), 0x7fu);
}

TEST_P(cq_test, a_sink_takes_completions_and_posts_again) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(pair[i % 2].send.post(send{.wr_id = i}).ok());
    produce(send_done(qpn[i % 2], i / 2));
  }
  std::vector<std::uint64_t> seen;
  const auto sink = [&](const work_completion& w) {
    seen.push_back(w.wr_id);
    EXPECT_TRUE(pair[0].send.post(send{.wr_id = 100 + w.wr_id}).ok());
  };
  EXPECT_EQ(testing::poll_each(queue, 3, sink), 3u);
  EXPECT_EQ(testing::poll_each(queue, 8, sink), 2u);
  EXPECT_EQ(testing::poll_each(queue, 8, sink), 0u);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(record.word(0), 5u);
  EXPECT_EQ(pair[0].send.outstanding(), 5u);
}

TEST_P(cq_test, entries_that_are_looked_at_stay_in_the_ring_until_they_are_released) {
  const data_entry buffer{0x1000, 100, 1};
  for (std::uint32_t start = 0; start < 8; ++start) {
    const std::uint32_t first_send = pair[0].send.posted(), first_receive = 2 * start;
    for (std::uint32_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(pair[0].send.post(send{.wr_id = i}).ok());
      ASSERT_TRUE(pair[1].receive.post({.wr_id = 10 + i, .list = &buffer, .entries = 1}).ok());
      produce(send_done(qpn[0], first_send + i));
      produce(received(qpn[1], first_receive + i, 60 + i, cqe_opcode::recv_send_imm)
                  .set<&cqe::immediate>(0x1000 + i));
    }
    ASSERT_TRUE(pair[0].send.post(rdma_read{.wr_id = 7, .data = {0, 16, 1}}).ok());
    produce(failed(qpn[0], first_send + 2, true, cqe_syndrome::remote_access));
    std::vector<completion_view> seen;
    EXPECT_EQ(queue.look(2, [&](const completion_view& v) { seen.push_back(v); }), 2u);
    EXPECT_EQ(queue.look(8, [&](const completion_view& v) { seen.push_back(v); }), 3u);
    EXPECT_EQ(record.word(0), produced - 5) << "nothing is released";
    ASSERT_EQ(seen.size(), 5u);
    for (std::uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(seen[2 * i].wr_id, i);
      EXPECT_TRUE(seen[2 * i].ok());
      EXPECT_EQ(seen[2 * i].qpn(), qpn[0]);
      const completion_view& got = seen[2 * i + 1];
      EXPECT_EQ(got.wr_id, 10 + i);
      EXPECT_EQ(got.byte_count, 60 + i);
      EXPECT_EQ(got.queue, &pair[1]);
      EXPECT_TRUE(got.has_immediate());
      EXPECT_EQ(got.immediate(), 0x1000 + i);
    }
    EXPECT_EQ(seen[4].status, completion_status::remote_access);
    EXPECT_EQ(seen[4].syndrome, 0x13);
    EXPECT_EQ(seen[4].vendor_syndrome, 0x81);
    const work_completion copy = copy_of(seen[3]);
    EXPECT_EQ(copy.byte_count, 61u);
    EXPECT_EQ(copy.immediate(), 0x1001u);
    queue.release();
    EXPECT_EQ(record.word(0), produced);
    EXPECT_FALSE(queue.pending());
  }
}

// For poll() of one, poll() of several, and look().
TEST_P(cq_test, forged_entries_are_refused_in_each_way_of_taking) {
  // The last entry is of a write, but names a read. The driver never asks for inline scatter. An
  // entry with that bit is checked like others.
  for (unsigned i = 0; i < 6; ++i) {
    const unsigned way = i / 2;
    const std::uint32_t first = pair[0].send.posted();
    const std::uint64_t before = queue.dropped();
    ASSERT_TRUE(pair[0].send.post(send{.wr_id = 1}).ok());
    ASSERT_TRUE(pair[0].send.post(rdma_read{.wr_id = 2, .data = {0, 64, 1}}).ok());
    produce(send_done(qpn[0], first + 2));
    produce(send_done(qpn[1], first));
    produce(send_done(0x42, first));
    produce(received(qpn[0], first, 0));
    produce(send_done(qpn[0], first));
    produce(send_done(qpn[0], first));
    produce(send_done(qpn[0], first + 1)
                .set<&cqe::byte_count>(16)
                .set<&cqe::inline_scatter>(i % 2 != 0));
    work_completion w[8];
    unsigned taken = 0;
    if (way == 0) {
      while (queue.poll(&w[taken], 1) == 1) ++taken;
    } else if (way == 1) {
      taken = queue.poll(w, 8);
    } else {
      queue.look(8, [&](const completion_view& v) { w[taken++] = copy_of(v); });
      queue.release();
    }
    ASSERT_EQ(taken, 2u) << way;
    EXPECT_EQ(w[0].wr_id, 1u);
    EXPECT_TRUE(w[0].ok());
    EXPECT_EQ(w[1].wr_id, 2u);
    EXPECT_EQ(w[1].status, completion_status::implausible);
    EXPECT_EQ(w[1].byte_count, 0u);
    EXPECT_EQ(queue.dropped() - before, 5u);
    EXPECT_EQ(record.word(0), produced);
  }
}

TEST_P(cq_test, a_sink_of_a_look_may_post) {
  std::uint64_t expected = 0;
  for (unsigned round = 0; round < 5; ++round) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      const std::uint64_t id = std::uint64_t{round} * 5 + i;
      if (round == 0) {
        ASSERT_TRUE(pair[0].send.post(send{.wr_id = id}).ok());
      }
      produce(send_done(qpn[0], static_cast<std::uint32_t>(id)));
    }
    EXPECT_EQ(queue.look(5,
                         [&](const completion_view& v) {
                           EXPECT_EQ(v.wr_id, expected++);
                           EXPECT_TRUE(pair[0].send.post(send{.wr_id = v.wr_id + 5}).ok());
                         }),
              5u);
    queue.release();
    EXPECT_EQ(record.word(0), produced);
    EXPECT_EQ(pair[0].send.outstanding(), 5u);
  }
}

TEST_P(cq_test, a_sink_may_have_entries_forgotten) {
  for (std::uint32_t start = 0; start < 16; ++start) {
    // Begins at each position of the ring, so that runs cross its end.
    for (std::uint32_t i = 0; i < 12; ++i) {
      ASSERT_TRUE(pair[i % 2].send.post(send{.wr_id = i}).ok());
      produce(send_done(qpn[i % 2], pair[i % 2].send.posted() - 1));
    }
    std::vector<std::uint64_t> seen;
    EXPECT_EQ(testing::poll_each(queue, 16,
                                 [&](const work_completion& w) {
                                   seen.push_back(w.wr_id);
                                   if (w.wr_id == 3) queue.forget(pair[1]);
                                 }),
              8u);
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 6, 8, 10})) << start;
    EXPECT_EQ(record.word(0), produced);
    EXPECT_EQ(queue.dropped(), 0u);
    while (pair[1].send.retire_oldest() != nullptr) continue;
    ASSERT_TRUE(pair[0].send.post(send{.wr_id = 99}).ok());
    produce(send_done(qpn[0], pair[0].send.posted() - 1));
    EXPECT_EQ(one().wr_id, 99u);
  }
}

TEST_P(cq_test, forgetting_entries_behind_those_that_are_looked_at_keeps_the_others_in_order) {
  // At each position of the ring, so that runs cross its end.
  for (std::uint32_t start = 0; start < 16; ++start) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      ASSERT_TRUE(pair[i % 2].send.post(send{.wr_id = i}).ok());
      produce(send_done(qpn[i % 2], pair[i % 2].send.posted() - 1));
    }
    std::vector<std::uint64_t> seen;
    EXPECT_EQ(queue.look(3, [&](const completion_view& v) { seen.push_back(v.wr_id); }), 3u);
    queue.forget(pair[1]);
    queue.release();
    EXPECT_EQ(record.word(0), queue.consumer_counter()) << start;
    work_completion w[16];
    const unsigned polled = queue.poll(w, 16);
    for (unsigned i = 0; i < polled; ++i) seen.push_back(w[i].wr_id);
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 4, 6, 8, 10})) << start;
    EXPECT_EQ(record.word(0), produced) << start;
    EXPECT_EQ(queue.dropped(), 0u);
    EXPECT_FALSE(queue.pending());
    while (pair[1].send.retire_oldest() != nullptr) continue;
    ASSERT_TRUE(pair[0].send.post(send{.wr_id = 99}).ok());
    produce(send_done(qpn[0], pair[0].send.posted() - 1));
    EXPECT_EQ(one().wr_id, 99u);
  }
}

TEST_P(cq_test, the_device_hears_of_each_completion_before_a_sink_posts) {
  // The CQ has as many entries as there are requests.
  for (std::uint32_t i = 0; i < 16; ++i) {
    ASSERT_TRUE(pair[0].send.post(send{.wr_id = i}).ok());
    produce(send_done(qpn[0], i));
  }
  std::uint32_t told = 0;
  EXPECT_EQ(testing::poll_each(queue, 16,
                               [&](const work_completion&) { EXPECT_EQ(record.word(0), ++told); }),
            16u);
}

TEST_P(cq_test, a_queue_pair_that_has_gone_is_not_remembered) {
  // A forged entry names pair 1, which has nothing outstanding. Later another pair has its number.
  produce(send_done(qpn[1], 0));
  work_completion w;
  EXPECT_EQ(queue.poll(&w, 1), 0u);
  directory.remove(pair[1]);
  qp_rings other = pair[1];
  pair[1].qpn = 0x99;
  ASSERT_TRUE(directory.add(other).ok());
  ASSERT_TRUE(other.send.post(send{.wr_id = 7}).ok());
  produce(send_done(qpn[1], 0));
  w = one();
  EXPECT_EQ(w.wr_id, 7u);
  EXPECT_EQ(w.queue, &other);
  EXPECT_EQ(w.qpn(), qpn[1]);
}

TEST_P(cq_test, a_read_that_ends_as_something_else_is_implausible) {
  ASSERT_TRUE(pair[0].send.post(rdma_read{.data = {0, 4096, 1}}).ok());
  produce(send_done(qpn[0], 0, wqe_opcode::send).set<&cqe::byte_count>(16));
  const work_completion w = one();
  EXPECT_EQ(w.status, completion_status::implausible);
  EXPECT_EQ(w.byte_count, 0u);
}

TEST_P(cq_test, errors_keep_the_raw_codes) {
  ASSERT_TRUE(
      work_requests::post(pair[0].send, {.wr_id = 9, .opcode = send_opcode::rdma_read}).ok());
  ASSERT_TRUE(pair[0].receive.post({.wr_id = 10}).ok());
  produce(failed(qpn[0], 0, true, cqe_syndrome::transport_retry_exceeded));
  work_completion w = one();
  EXPECT_EQ(w.status, completion_status::transport_retry_exceeded);
  EXPECT_EQ(w.syndrome, 0x15);
  EXPECT_EQ(w.vendor_syndrome, 0x81);
  EXPECT_EQ(w.opcode, work_opcode::rdma_read) << "from the driver's own record";
  produce(failed(qpn[0], 0, false, cqe_syndrome{0x7f}));
  w = one();
  EXPECT_EQ(w.status, completion_status::unknown_syndrome);
  EXPECT_EQ(w.syndrome, 0x7f);
  EXPECT_STREQ(name_of(completion_status::flushed), "flushed");
}

TEST_P(cq_test, a_look_at_forged_entries_alone_gives_their_places_back) {
  for (unsigned i = 0; i < 3; ++i) produce(send_done(0x7777, i));
  EXPECT_EQ(queue.look(8, [](const completion_view&) { ADD_FAILURE(); }), 0u);
  EXPECT_EQ(queue.dropped(), 3u);
  EXPECT_EQ(record.word(0), 3u);
}

TEST_P(cq_test, a_queue_that_is_closed_releases_nothing) {
  queue.close();
  EXPECT_EQ(queue.look(8, [](const completion_view&) { ADD_FAILURE(); }), 0u);
  queue.release();
  EXPECT_EQ(record.word(0), 0u);
}

TEST_P(cq_test, entries_that_name_nothing_are_dropped_and_counted) {
  ASSERT_TRUE(work_requests::post(pair[0].send, {.wr_id = 1}).ok());
  produce(send_done(0x42, 0));
  produce(send_done(0xffffff, 0));
  produce(send_done(qpn[0], 1));
  produce(received(qpn[0], 0, 0));
  produce(send_done(qpn[0], 0));
  work_completion w[8];
  EXPECT_EQ(queue.poll(w, 8), 1u);
  EXPECT_EQ(w[0].wr_id, 1u);
  EXPECT_EQ(queue.dropped(), 4u);
  EXPECT_EQ(record.word(0), 5u) << "dropped entries give their places back";
}

/// The last entry of the old buffer of a CQ that is resized.
TEST_P(cq_test, the_last_entry_before_a_resize_ends_no_request) {
  ASSERT_TRUE(work_requests::post(pair[0].send, {.wr_id = 1}).ok());
  auto last = send_done(qpn[0], 0);
  last.set<&cqe::opcode>(static_cast<std::uint64_t>(cqe_opcode::resize));
  produce(last);
  work_completion w[2];
  EXPECT_EQ(queue.poll(w, 2), 0u);
  EXPECT_EQ(pair[0].send.outstanding(), 1u);
  EXPECT_EQ(queue.dropped(), 1u);
  produce(send_done(qpn[0], 0));
  EXPECT_EQ(one().wr_id, 1u);
}

TEST_P(cq_test, a_hostile_device_reaches_nothing_that_is_not_its_own) {
  std::mt19937 random(1);
  ASSERT_TRUE(work_requests::post(pair[0].send, {.wr_id = 1}).ok());
  ASSERT_TRUE(pair[1].receive.post({.wr_id = 2}).ok());
  work_completion w[4];
  unsigned reported = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    image<cqe> e;
    for (std::size_t at = 0; at < cqe::bytes; ++at) e.data()[at] = static_cast<std::byte>(random());
    if (random() % 2 == 0) e.set<&cqe::qpn>(qpn[random() % 2]);
    produce(e);
    const unsigned n = queue.poll(w, 4);
    for (unsigned k = 0; k < n; ++k) EXPECT_TRUE(w[k].wr_id == 1 || w[k].wr_id == 2);
    reported += n;
  }
  EXPECT_LE(reported, 2u);
}

TEST_P(cq_test, arming_writes_the_record_and_then_the_doorbell) {
  ASSERT_TRUE(work_requests::post(pair[0].send, {}).ok());
  produce(send_done(qpn[0], 0));
  one();
  queue.arm();
  EXPECT_EQ(record.word(4), 0x12000001u) << "number 1, next, consumer 1";
  EXPECT_EQ(doorbells.word(uar::cq_doorbell), 0x12000099u);
  EXPECT_EQ(doorbells.word(uar::cq_doorbell + 4), 1u);
  queue.on_event();
  queue.arm(true);
  EXPECT_EQ(record.word(4), 0x21000001u) << "number 2, solicited";
  for (unsigned i = 0; i < 2; ++i) queue.on_event();
  queue.arm();
  EXPECT_EQ(record.word(4), 0x02000001u) << "the number has two bits";
}

// Linux 6.1 include/linux/mlx4/cq.h (MLX4_CQE_SYNDROME_*), rdma-core providers/mlx4/cq.c
// (mlx4_handle_error_cqe) and illumos hermon_hw.h (HERMON_CQE_*) agree on the numbers. The
// syndromes of reliable datagrams (0x03, 0x20, 0x21, 0x23 and 0x24 in the PRM) have no status: all
// three drivers call them unknown.
TEST_P(cq_test, each_syndrome_has_its_status) {
  using s = completion_status;
  struct {
    unsigned syndrome;
    completion_status status;
    const char* words;
  } const known[] = {
      {0x01, s::local_length, "local length error"},
      {0x02, s::local_qp_operation, "local queue pair operation error"},
      {0x04, s::local_protection, "local protection error"},
      {0x05, s::flushed, "flushed"},
      {0x06, s::window_bind, "memory window bind error"},
      {0x10, s::bad_response, "bad response"},
      {0x11, s::local_access, "local access error"},
      {0x12, s::remote_invalid_request, "remote invalid request"},
      {0x13, s::remote_access, "remote access error"},
      {0x14, s::remote_operation, "remote operation error"},
      {0x15, s::transport_retry_exceeded, "transport retry count exceeded"},
      {0x16, s::rnr_retry_exceeded, "receiver-not-ready retry count exceeded"},
      {0x22, s::remote_aborted, "remote aborted"},
  };
  const data_entry buffer{0x1000, 100, 1};
  std::uint32_t index = 0;
  for (unsigned syndrome = 0; syndrome < 256; ++syndrome, ++index) {
    completion_status expected = s::unknown_syndrome;
    const char* words = "unknown syndrome";
    for (const auto& k : known)
      if (k.syndrome == syndrome) expected = k.status, words = k.words;
    for (const bool of_send : {true, false}) {
      const status post_status =
          of_send ? work_requests::post(pair[0].send, {.wr_id = syndrome})
                  : pair[0].receive.post({.wr_id = syndrome, .list = &buffer, .entries = 1});
      ASSERT_TRUE(post_status.ok());
      produce(failed(qpn[0], index & 0xffff, of_send, static_cast<cqe_syndrome>(syndrome)));
      const work_completion w = one();
      EXPECT_EQ(w.status, expected) << syndrome;
      EXPECT_FALSE(w.ok()) << syndrome;
      EXPECT_EQ(w.syndrome, syndrome);
      EXPECT_EQ(w.vendor_syndrome, 0x81);
      EXPECT_EQ(w.wr_id, syndrome);
      EXPECT_EQ(w.opcode, of_send ? work_opcode::send : work_opcode::receive);
      EXPECT_EQ(w.byte_count, 0u);
      EXPECT_STREQ(name_of(w.status), words);
    }
  }
}

TEST(completion_status, each_has_words_of_its_own) {
  std::set<std::string> all;
  const auto last = static_cast<unsigned>(completion_status::device_reset);
  for (unsigned i = 0; i <= last; ++i) all.insert(name_of(static_cast<completion_status>(i)));
  EXPECT_EQ(last, 16u);
  EXPECT_EQ(all.size(), 17u);
  EXPECT_EQ(all.count("unknown"), 0u);
  EXPECT_STREQ(name_of(static_cast<completion_status>(last + 1)), "unknown");
}

TEST(data_entry, a_length_that_it_cannot_say_is_not_cut) {
  EXPECT_EQ(entry_of(8, 0, 5).length, 0u);
  EXPECT_EQ(entry_of(8, 0x7fffffff, 5).length, 0x7fffffffu);
  for (const std::uint64_t length :
       {0x80000000ull, 0xffffffffull, 0x100000000ull, 0x100000008ull, 0x8000000000000000ull, ~0ull})
    EXPECT_GT(entry_of(8, length, 5).length, most_data_bytes) << length;
}

// IBTA C11-31 and C11-32: of two outstanding requests, the one for the next completion stands.
TEST_P(cq_test, a_request_for_the_next_completion_is_not_weakened) {
  struct {
    bool solicited_first, solicited_second;
    std::uint32_t first, second;
  } const requests[] = {
      {false, false, 2, 2}, {false, true, 2, 2}, {true, false, 1, 2}, {true, true, 1, 1}};
  std::uint32_t number = 1;
  for (const auto& r : requests) {
    const auto expect = [&](std::uint32_t command) {
      const std::uint32_t head = (number & 3) << 28 | command << 24;
      EXPECT_EQ(record.word(4), head) << number;
      EXPECT_EQ(doorbells.word(uar::cq_doorbell), head | 0x99) << number;
    };
    queue.arm(r.solicited_first);
    expect(r.first);
    queue.arm(r.solicited_second);
    expect(r.second);
    queue.arm(true);
    expect(r.second);
    // The event ends both requests.
    queue.on_event();
    ++number;
  }
  queue.arm();
  ASSERT_TRUE(work_requests::post(pair[0].send, {}).ok());
  produce(send_done(qpn[0], 0));
  one();
  queue.arm(true);
  EXPECT_EQ(record.word(4), 0x12000001u) << "number 5; the consumer index is that of now";
}

TEST_P(cq_test, forgetting_a_queue_pair_keeps_the_others_in_order) {
  for (std::uint32_t start = 0; start < 20; ++start) {
    // Begins at each position of the ring, so that runs cross its end.
    for (std::uint32_t i = 0; i < 6; ++i)
      ASSERT_TRUE(work_requests::post(pair[i % 2].send, {.wr_id = 100 * start + i}).ok());
    for (std::uint32_t i = 0; i < 6; ++i) produce(send_done(qpn[i % 2], start * 3 + i / 2));
    queue.forget(pair[1]);
    work_completion w[8];
    ASSERT_EQ(queue.poll(w, 8), 3u) << start;
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].wr_id, 100 * start + 2 * i);
    EXPECT_EQ(record.word(0), produced);
    EXPECT_FALSE(queue.pending());
    for (std::uint32_t i = 0; i < 3; ++i)
      ASSERT_NE(pair[1].send.retire(static_cast<std::uint16_t>(start * 3 + i)), nullptr);
    ASSERT_TRUE(work_requests::post(pair[0].send, {.wr_id = 7}).ok());
    ASSERT_TRUE(work_requests::post(pair[1].send, {.wr_id = 8}).ok());
    produce(send_done(qpn[0], pair[0].send.posted() - 1));
    EXPECT_EQ(one().wr_id, 7u);
    ASSERT_NE(pair[1].send.retire(static_cast<std::uint16_t>(pair[1].send.posted() - 1)), nullptr);
    // Sets both counters to a known value.
    pair[0].send.reset(), pair[1].send.reset();
    pair[0].send.accept(true), pair[1].send.accept(true);
    for (std::uint32_t i = 0; i < (start + 1) * 3; ++i)
      for (auto& p : pair) {
        ASSERT_TRUE(work_requests::post(p.send, {}).ok());
        ASSERT_NE(p.send.retire(static_cast<std::uint16_t>(i)), nullptr);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(entry_sizes, cq_test, ::testing::Values(32u, 64u));

TEST(qp_directory_test, numbers_that_share_a_slot_are_told_apart) {
  qp_rings* slots[4];
  qp_directory directory;
  directory.open(slots, 4);
  qp_rings a, b;
  a.qpn = 5;
  b.qpn = 9;
  ASSERT_TRUE(directory.add(a).ok());
  EXPECT_TRUE(directory.add(b).is(driver_error::busy));
  EXPECT_EQ(directory.find(5), &a);
  EXPECT_EQ(directory.find(9), nullptr);
  directory.remove(b);
  EXPECT_EQ(directory.find(5), &a);
  directory.remove(a);
  EXPECT_EQ(directory.find(5), nullptr);
  EXPECT_TRUE(directory.add(b).ok()) << "the slot is free again";
}

TEST(qp_directory_test, no_number_finds_somebody_where_nobody_is) {
  qp_rings* slots[4];
  qp_directory directory;
  EXPECT_EQ(directory.find(0), nullptr) << "not open";
  qp_rings a;
  EXPECT_TRUE(directory.add(a).is(driver_error::bad_state));
  directory.open(slots, 4);
  for (std::uint32_t qpn = 0; qpn < 1u << 24; qpn += 0xfff)
    ASSERT_EQ(directory.find(qpn), nullptr) << qpn;
  EXPECT_EQ(directory.find((1u << 24) - 1), nullptr);
}

TEST(cq_open_test, a_directory_that_is_not_open_is_refused) {
  ring_memory memory{4096}, record{64};
  doorbell_page page;
  qp_directory directory;
  cq queue;
  const cq_resources r{.ring = memory.region(4096),
                       .log_entries = 4,
                       .record = record.region(8),
                       .uar = page.region(),
                       .queue_pairs = &directory};
  EXPECT_TRUE(queue.open(r).is(driver_error::bad_argument));
  qp_rings* slots[4];
  directory.open(slots, 4);
  EXPECT_TRUE(queue.open(r).ok());
}

}  // namespace
}  // namespace freehca::queues
