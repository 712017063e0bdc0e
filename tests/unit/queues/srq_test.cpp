// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/srq.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <map>
#include <random>
#include <vector>

#include <freehca/queues/cq.hpp>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using testing::doorbell_page;
using testing::ring_memory;

struct srq_test : ::testing::Test {
  ring_memory memory{1 << 14}, record{64};
  std::vector<posted_request> slots;
  srq_shape shape;
  srq queue;

  void make(std::uint32_t requests, unsigned scatter) {
    shape = srq_shape_for(requests, scatter).value();
    slots.assign(shape.entries(), {.wr_id = 77, .link = 5});
    ASSERT_TRUE(queue.open(resources(scatter)).ok());
    queue.accept(true);
  }
  srq_resources resources(unsigned scatter) {
    return {memory.region(shape.bytes()), shape, slots.data(), record.region(64), scatter};
  }
  std::size_t entry(std::uint32_t index) const { return std::size_t{index} << shape.log_stride; }
  std::uint32_t next(std::uint32_t index) {
    const auto head = memory.read<wqe_srq_next>(entry(index));
    EXPECT_TRUE(head.reserved_clear());
    return static_cast<std::uint32_t>(head.get<&wqe_srq_next::next_wqe_index>());
  }
  image<wqe_data> data(std::uint32_t index, unsigned i) {
    return memory.read<wqe_data>(entry(index) + 16 + 16 * i);
  }
  status post(std::uint64_t id) {
    const data_entry list{0x1000 * id, 64, 9};
    return queue.post({.wr_id = id, .list = &list, .entries = 1});
  }
};

TEST_F(srq_test, a_shape_keeps_one_entry_back) {
  EXPECT_EQ(srq_shape_for(7, 1).value().log_entries, 3);
  EXPECT_EQ(srq_shape_for(8, 1).value().log_entries, 4);
  EXPECT_EQ(srq_shape_for(0, 0).value(), (srq_shape{1, 5}));
  EXPECT_EQ(srq_shape_for(1, 2).value().log_stride, 6) << "the number of the next one, and two";
  EXPECT_FALSE(srq_shape_for(0x8000, 1).ok());
  EXPECT_FALSE(srq_shape_for(1, 128).ok());
}

TEST_F(srq_test, a_fresh_ring_is_one_list_from_the_first_entry) {
  make(7, 1);
  for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(next(i), i + 1);
  EXPECT_EQ(record.word(0), 0u);
  EXPECT_EQ(queue.outstanding(), 0u);
  EXPECT_EQ(queue.most_outstanding(), 7u);
}

/// Bytes written by hand from Linux 6.1 include/linux/mlx4/srq.h and qp.h (struct
/// mlx4_wqe_srq_next_seg, mlx4_wqe_data_seg).
TEST_F(srq_test, the_wqe_has_the_bytes_that_linux_writes) {
  make(3, 3);
  const data_entry list[] = {{0x1122334455667788, 5, 0xaabbccdd}, {1, 0, 1}, {0x3000, 6, 0x900}};
  ASSERT_TRUE(queue.post({.wr_id = 1, .list = list, .entries = 3}).ok());
  constexpr unsigned char wanted[] = {
      0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,  // index of the next entry
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
      0x00, 0x00, 0x00, 0x05, 0xaa, 0xbb, 0xcc, 0xdd,  // length, L_Key
      0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,  // address
      0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x09, 0x00,  //
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00,  //
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,  // no bytes, and the L_Key of the end segment
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
  };
  ASSERT_EQ(sizeof wanted, std::size_t{1} << shape.log_stride);
  for (std::size_t i = 0; i < sizeof wanted; ++i)
    EXPECT_EQ(static_cast<unsigned>(*memory.at(i)), wanted[i]) << "byte " << i;
  EXPECT_EQ(queue.retire(0)->bytes, 11u);
}

TEST_F(srq_test, a_receive_of_one_entry_ends_behind_it_whatever_stood_there) {
  make(3, 3);
  const data_entry list[] = {{0x1000, 5, 0x800}, {0x2000, 6, 0x900}};
  std::uint16_t index = 0;
  for (const unsigned entries : {1u, 1u, 1u, 1u, 2u, 2u, 2u, 2u, 1u, 1u, 1u, 1u}) {
    ASSERT_TRUE(queue.post({.wr_id = 7, .list = list, .entries = entries}).ok());
    for (unsigned i = 0; i < entries; ++i) {
      EXPECT_EQ(data(index, i).get<&wqe_data::address>(), list[i].address);
      EXPECT_EQ(data(index, i).get<&wqe_data::byte_count>(), list[i].length);
      EXPECT_EQ(data(index, i).get<&wqe_data::lkey>(), list[i].lkey);
    }
    EXPECT_EQ(data(index, entries).get<&wqe_data::lkey>(), invalid_lkey) << "entry " << index;
    EXPECT_EQ(data(index, entries).get<&wqe_data::byte_count>(), 0u) << "entry " << index;
    const auto then = static_cast<std::uint16_t>(next(index));
    EXPECT_EQ(queue.retire(index)->bytes, entries == 1 ? 5u : 11u);
    index = then;
  }
}

TEST_F(srq_test, every_entry_but_one_can_be_posted) {
  make(3, 1);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(post(i).ok());
  EXPECT_TRUE(post(3).is(driver_error::queue_full));
  EXPECT_EQ(queue.outstanding(), 3u);
  EXPECT_EQ(queue.retire(1)->wr_id, 1u);
  EXPECT_TRUE(post(3).ok());
  EXPECT_TRUE(post(4).is(driver_error::queue_full));
  EXPECT_EQ(queue.retire(3)->wr_id, 3u) << "the one that was kept back; now it is 1";
}

TEST_F(srq_test, entries_that_completed_are_posted_in_that_order) {
  make(3, 1);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(post(i).ok());
  for (const std::uint16_t index : std::initializer_list<std::uint16_t>{2, 0, 1})
    EXPECT_EQ(queue.retire(index)->wr_id, index) << "until the next post";
  // Entry 3 comes first, because it was the last free entry.
  EXPECT_EQ(next(3), 2u);
  EXPECT_EQ(next(2), 0u);
  EXPECT_EQ(next(0), 1u);
  for (std::uint64_t i = 3; i < 6; ++i) ASSERT_TRUE(post(i).ok());
  EXPECT_EQ(data(3, 0).get<&wqe_data::address>(), 0x3000u);
  EXPECT_EQ(data(2, 0).get<&wqe_data::address>(), 0x4000u);
  EXPECT_EQ(data(0, 0).get<&wqe_data::address>(), 0x5000u);
  EXPECT_EQ(queue.retire(0)->wr_id, 5u);
}

TEST_F(srq_test, the_record_counts_what_was_rung_and_wraps) {
  make(1, 1);
  ASSERT_TRUE(post(0).ok());
  EXPECT_EQ(record.word(0), 0u);
  queue.ring();
  EXPECT_EQ(record.word(0), 1u);
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    ASSERT_NE(queue.retire(i % 2 != 0), nullptr);
    ASSERT_TRUE(queue.post_and_ring({.wr_id = i}).ok());
  }
  EXPECT_EQ(record.word(0), 1u);
}

TEST_F(srq_test, an_index_that_is_not_outstanding_retires_nothing) {
  make(3, 1);
  for (std::uint32_t i = 0; i <= 0xffff; ++i)
    ASSERT_EQ(queue.retire(static_cast<std::uint16_t>(i)), nullptr) << i;
  ASSERT_TRUE(post(0).ok());
  ASSERT_TRUE(post(1).ok());
  for (std::uint32_t i = 2; i <= 0xffff; ++i)
    ASSERT_EQ(queue.retire(static_cast<std::uint16_t>(i)), nullptr) << i;
  EXPECT_NE(queue.retire(1), nullptr);
  EXPECT_EQ(queue.retire(1), nullptr) << "it is free";
  EXPECT_NE(queue.retire(0), nullptr);
  for (std::uint16_t i = 0; i < 4; ++i) EXPECT_EQ(queue.retire(i), nullptr) << i;
  for (std::uint64_t i = 2; i < 5; ++i) ASSERT_TRUE(post(i).ok());
  EXPECT_TRUE(post(5).is(driver_error::queue_full)) << "no entry is in the list twice";
}

TEST_F(srq_test, refusals_touch_nothing) {
  make(3, 1);
  const std::vector<std::byte> before(memory.at(0), memory.at(shape.bytes()));
  const data_entry list[] = {{0, 1, 0}, {0, 1, 0}};
  const data_entry wide{0, 0x80000000u, 0};
  EXPECT_TRUE(queue.post({.list = list, .entries = 2}).is(driver_error::bad_argument));
  EXPECT_TRUE(queue.post({.list = &wide, .entries = 1}).is(driver_error::bad_argument));
  queue.accept(false);
  EXPECT_TRUE(queue.post({}).is(driver_error::bad_state)) << "not the device's";
  EXPECT_TRUE(queue.post({.list = list, .entries = 1}).is(driver_error::bad_state));
  EXPECT_EQ(before, std::vector<std::byte>(memory.at(0), memory.at(shape.bytes())));
  EXPECT_EQ(queue.outstanding(), 0u);
  queue.accept(true);
  EXPECT_TRUE(queue.post({}).ok());
  queue.close();
  EXPECT_FALSE(queue.is_open());
  EXPECT_TRUE(queue.post({}).is(driver_error::bad_state));
  EXPECT_EQ(queue.retire(0), nullptr);
  EXPECT_EQ(queue.retire_oldest(), nullptr);
}

TEST_F(srq_test, shapes_that_hardware_has_not_are_refused) {
  make(3, 1);
  const auto refused = [this](auto&& change) {
    srq_resources r = resources(1);
    change(r);
    return queue.open(r).is(driver_error::bad_argument);
  };
  EXPECT_TRUE(refused([](srq_resources& r) { r.shape.log_entries = 0; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.shape.log_entries = 16; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.shape.log_stride = 4; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.shape.log_stride = 12; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.ring.bytes = 64; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.slots = nullptr; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.record.bytes = 2; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.record.device_address += 2; }));
  EXPECT_TRUE(refused([](srq_resources& r) { r.most_scatter = 2; }));
  EXPECT_FALSE(refused([](srq_resources&) {}));
}

TEST_F(srq_test, what_the_device_tells_nothing_of_retires_all_the_same) {
  make(7, 1);
  EXPECT_EQ(queue.retire_oldest(), nullptr);
  std::uint64_t id = 0, oldest = 0;
  for (unsigned round = 0; round < 20; ++round) {
    for (unsigned i = 0; i < 5; ++i) ASSERT_TRUE(post(id++).ok());
    // Receives retire in the order of the posts, if they complete in this order.
    for (unsigned i = 0; i < 5; ++i) ASSERT_EQ(queue.retire_oldest()->wr_id, oldest++);
    EXPECT_EQ(queue.retire_oldest(), nullptr);
  }
  for (unsigned i = 0; i < 7; ++i) ASSERT_TRUE(post(i).ok());
  ASSERT_NE(queue.retire(5), nullptr);
  unsigned left = 0;
  while (queue.retire_oldest() != nullptr) ++left;
  EXPECT_EQ(left, 6u);
}

TEST_F(srq_test, a_device_that_follows_the_list_finds_what_was_posted) {
  std::mt19937 random(20261123);
  const auto below = [&random](std::size_t most) { return random() % most; };
  for (const unsigned requests : {1u, 3u, 20u}) {
    make(requests, 2);
    const std::uint32_t most = queue.most_outstanding();
    std::uint64_t id = 1;
    std::deque<std::uint64_t> unseen;               // posted, and not taken by the device
    std::map<std::uint16_t, std::uint64_t> taken;   // by index
    std::uint32_t at = 0, counted = 0, silent = 0;  // the device's entry and count; not rung
    for (unsigned step = 0; step < 8000; ++step) {
      switch (below(4)) {
        case 0: {
          const bool full = queue.outstanding() == most;
          const status s = post(id);
          ASSERT_EQ(s.ok(), !full);
          if (!full) {
            unseen.push_back(id++);
            ++silent;
          }
          if (full || below(2) != 0) {
            queue.ring();
            silent = 0;
          }
          break;
        }
        case 1: {
          const auto rung = static_cast<std::uint16_t>(record.word(0) - counted);
          ASSERT_EQ(rung, unseen.size() - silent);
          if (rung == 0) break;
          ASSERT_EQ(data(at, 0).get<&wqe_data::address>(), 0x1000 * unseen.front());
          ASSERT_EQ(data(at, 1).get<&wqe_data::lkey>(), invalid_lkey);
          ASSERT_TRUE(taken.emplace(at, unseen.front()).second) << "taken twice";
          unseen.pop_front();
          ++counted;
          at = next(at);
          ASSERT_LE(at, most);
          break;
        }
        case 2: {
          if (taken.empty()) break;
          const auto which = std::next(taken.begin(), static_cast<long>(below(taken.size())));
          const posted_request* const done = queue.retire(which->first);
          ASSERT_NE(done, nullptr);
          EXPECT_EQ(done->wr_id, which->second);
          EXPECT_EQ(done->bytes, 64u);
          EXPECT_EQ(done->opcode, work_opcode::receive);
          taken.erase(which);
          break;
        }
        default: {
          // A forged completion. It does not name an entry that the device has not taken yet,
          // because the queue cannot detect this.
          const auto index = static_cast<std::uint16_t>(below(2) != 0 ? random() : below(most + 1));
          if (taken.contains(index) || (index <= most && !unseen.empty())) break;
          ASSERT_EQ(queue.retire(index), nullptr);
          break;
        }
      }
      ASSERT_EQ(queue.outstanding(), unseen.size() + taken.size());
    }
    EXPECT_GT(id, 400u);
  }
}

/// Two queue pairs that share a receive queue, and a third one with its own.
struct shared_receive_test : srq_test {
  static constexpr unsigned log_entries = 4;
  static constexpr std::uint32_t qpn[3] = {0x40, 0x41, 0x42};
  ring_memory ring{cq::ring_bytes(log_entries, 32)}, cq_record{64}, own{4096}, own_record{64};
  doorbell_page doorbells;
  qp_rings* found[4];
  qp_directory directory;
  qp_rings pair[3];
  posted_request own_slots[4];
  cq completions;
  std::uint32_t produced = 0;

  void SetUp() override {
    make(7, 1);
    directory.open(found, 4);
    for (unsigned i = 0; i < 3; ++i) {
      pair[i].qpn = qpn[i];
      pair[i].shared = i < 2 ? &queue : nullptr;
      ASSERT_TRUE(directory.add(pair[i]).ok());
    }
    const rq_shape r = rq_shape_for(4, 1).value();
    ASSERT_TRUE(
        pair[2].receive.open({own.region(r.bytes()), r, own_slots, own_record.region(64), 1}).ok());
    pair[2].receive.accept(true);
    ASSERT_TRUE(completions
                    .open({ring.region(cq::ring_bytes(log_entries, 32)), log_entries, 32,
                           cq_record.region(64), doorbells.region(), 1, &directory})
                    .ok());
  }
  template <class Table>
  void produce(image<Table> e) {
    e.template set<&Table::owner>((produced >> log_entries & 1) != 0);
    ring.write((produced & 15) * 32, e);
    ++produced;
  }
  void receive(std::uint32_t number, std::uint32_t index, std::uint32_t bytes = 64,
               cqe_opcode opcode = cqe_opcode::recv_send) {
    image<cqe> e;
    e.set<&cqe::qpn>(number).set<&cqe::wqe_index>(index).set<&cqe::byte_count>(bytes);
    produce(e.set<&cqe::opcode>(static_cast<std::uint64_t>(opcode)));
  }
  void fail(std::uint32_t number, std::uint32_t index, cqe_syndrome why) {
    image<cqe_error> e;
    e.set<&cqe_error::qpn>(number).set<&cqe_error::wqe_index>(index);
    e.set<&cqe_error::opcode>(cqe_opcode::error).set<&cqe_error::syndrome>(why);
    produce(e.set<&cqe_error::vendor_syndrome>(0x81));
  }
  work_completion one() {
    work_completion w;
    EXPECT_EQ(completions.poll(&w, 1), 1u);
    return w;
  }
};

TEST_F(shared_receive_test, receives_go_to_whichever_queue_pair_has_a_message) {
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(post(i).ok());
  receive(qpn[1], 1, 10);
  receive(qpn[0], 0, 20, cqe_opcode::recv_send_imm);
  receive(qpn[0], 3, 1 << 20, cqe_opcode::recv_rdma_write_imm);
  work_completion w = one();
  EXPECT_EQ(w.wr_id, 1u);
  EXPECT_EQ(w.queue, &pair[1]);
  EXPECT_EQ(w.byte_count, 10u);
  EXPECT_EQ(w.syndrome, 0);
  EXPECT_EQ(w.vendor_syndrome, 0);
  w = one();
  EXPECT_EQ(w.wr_id, 0u);
  EXPECT_EQ(w.queue, &pair[0]);
  EXPECT_TRUE(w.has_immediate());
  EXPECT_EQ(w.vendor_syndrome, 0);
  w = one();
  EXPECT_EQ(w.wr_id, 3u);
  EXPECT_EQ(w.opcode, work_opcode::receive_rdma_with_immediate);
  EXPECT_EQ(w.byte_count, 1u << 20);
  EXPECT_EQ(queue.outstanding(), 1u);
}

TEST_F(shared_receive_test, a_queue_pair_with_its_own_receives_is_left_alone) {
  ASSERT_TRUE(post(1).ok());
  ASSERT_TRUE(pair[2].receive.post({.wr_id = 2}).ok());
  receive(qpn[2], 0, 0);
  EXPECT_EQ(one().wr_id, 2u);
  EXPECT_EQ(queue.outstanding(), 1u);
}

TEST_F(shared_receive_test, a_receive_that_failed_is_free_again) {
  ASSERT_TRUE(post(5).ok());
  ASSERT_TRUE(post(6).ok());
  fail(qpn[0], 1, cqe_syndrome::wr_flush);
  receive(qpn[1], 0, 65);
  work_completion w = one();
  EXPECT_EQ(w.wr_id, 6u);
  EXPECT_EQ(w.status, completion_status::flushed);
  EXPECT_EQ(w.opcode, work_opcode::receive);
  EXPECT_EQ(w.vendor_syndrome, 0x81);
  w = one();
  EXPECT_EQ(w.status, completion_status::implausible) << "more than was posted";
  EXPECT_EQ(queue.outstanding(), 0u);
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(post(i).ok());
}

TEST_F(shared_receive_test, forged_indexes_are_dropped) {
  ASSERT_TRUE(post(5).ok());
  receive(qpn[0], 1);
  receive(qpn[0], 7);
  receive(qpn[0], 8);
  receive(qpn[1], 0xffff);
  fail(qpn[1], 1, cqe_syndrome::wr_flush);
  receive(qpn[0], 0);
  receive(qpn[1], 0);
  work_completion w[8];
  EXPECT_EQ(completions.poll(w, 8), 1u);
  EXPECT_EQ(w[0].wr_id, 5u);
  EXPECT_EQ(completions.dropped(), 6u);
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(post(i).ok());
  EXPECT_TRUE(post(7).is(driver_error::queue_full));
}

TEST_F(shared_receive_test, a_queue_pair_that_goes_gives_its_receives_back) {
  for (std::uint64_t i = 0; i < 7; ++i) ASSERT_TRUE(post(i).ok());
  receive(qpn[0], 0);
  receive(qpn[1], 1);
  fail(qpn[0], 2, cqe_syndrome::wr_flush);
  receive(qpn[1], 3);
  // The completion of a send frees no receive, even if its WQE counter is the index of one.
  image<cqe> e;
  produce(e.set<&cqe::qpn>(qpn[0]).set<&cqe::is_send>(true).set<&cqe::wqe_index>(4));
  completions.forget(pair[0]);
  EXPECT_EQ(queue.outstanding(), 5u);
  EXPECT_EQ(one().wr_id, 1u);
  EXPECT_EQ(one().wr_id, 3u);
  EXPECT_FALSE(completions.pending());
  EXPECT_EQ(queue.outstanding(), 3u);
  EXPECT_EQ(queue.retire(0), nullptr);
  EXPECT_EQ(queue.retire(2), nullptr);
  ASSERT_NE(queue.retire(4), nullptr) << "a send of that number is no receive";
}

TEST_F(shared_receive_test, a_sink_posts_again) {
  for (std::uint64_t i = 0; i < 7; ++i) ASSERT_TRUE(post(i).ok());
  std::uint64_t id = 7, expected = 0;
  for (unsigned round = 0; round < 10; ++round) {
    // The free list has the order of completion. The last free entry therefore takes its turn too.
    for (unsigned i = 0; i < 4; ++i) receive(qpn[i % 2], (round * 4 + i) % 8);
    EXPECT_EQ(testing::poll_each(completions, 8,
                                 [&](const work_completion& w) {
                                   EXPECT_EQ(w.wr_id, expected++);
                                   EXPECT_TRUE(post(id++).ok());
                                 }),
              4u);
  }
  EXPECT_EQ(queue.outstanding(), 7u);
}

}  // namespace
}  // namespace freehca::queues
