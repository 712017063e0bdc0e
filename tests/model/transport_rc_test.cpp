// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Reliable connections in loopback: what arrives, and what the completions say.
#include "transport_fixture.hpp"

namespace freehca::model::test {

namespace {

constexpr std::uint32_t path_mtu = 1024;
constexpr std::uint32_t sizes[] = {
    0, 1, 63, 64, 65, path_mtu - 1, path_mtu, path_mtu + 1, 10 * path_mtu + 3, 65536, 1u << 20};

class rc : public transport_fixture {
 protected:
  static constexpr std::uint64_t from = region_start + 5, to = region_start + 0x200000 + 9;

  rc() : a(make_qp(0x100)), b(make_qp(0x101)) {
    to_rts(a, b.number);
    to_rts(b, a.number);
  }
  test_send request(wqe_opcode opcode, std::uint32_t bytes) {
    return transfer(opcode, bytes, from, to);
  }
  /// Words of 8 bytes from `first` to `words` of a's last entry, to a half of its register.
  void copy_to_blueflame(std::uint64_t half, unsigned words, unsigned first = 0) {
    const std::uint32_t index = a.sent - 1;
    std::byte* entry =
        driver->bytes_of(a.ring, std::size_t{index % test_qp::entries} * test_qp::stride);
    auto control = layouts::image<layouts::wqe_ctrl_blueflame>::from_bytes(entry);
    control.set<&layouts::wqe_ctrl_blueflame::wqe_index>(index)
        .set<&layouts::wqe_ctrl_blueflame::qpn>(a.number);
    std::memcpy(entry, control.data(), layouts::wqe_ctrl_blueflame::bytes);
    const std::uint64_t at =
        options{}.uar_bar_bytes / 2 + std::uint64_t{test_driver::uar} * 4096 + half * 256;
    for (unsigned word = first; word < words; ++word)
      hca->write_uar(at + 8 * word, layouts::load_be<std::uint64_t>(entry + 8 * word), 8);
  }
  test_qp a, b;
};

}  // namespace

TEST_F(rc, sends_arrive_whole_at_every_size) {
  for (const std::uint32_t bytes : sizes) {
    fill(from, bytes, bytes);
    fill(to, bytes + 1, 99);
    post_receive(b, to, bytes + 1, key);
    send(a, request(wqe_opcode::send, bytes));
    const auto received = completion();
    EXPECT_EQ(received.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
    EXPECT_EQ(received.get<&layouts::cqe::byte_count>(), bytes);
    EXPECT_EQ(received.get<&layouts::cqe::remote_qpn>(), a.number);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
    expect_pattern(to, bytes, bytes);
    EXPECT_EQ(byte_at(to + bytes), pattern(bytes, 99)) << "a byte past the message";
  }
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(rc, writes_arrive_whole_at_every_size_and_complete_at_the_requester_only) {
  for (const std::uint32_t bytes : sizes) {
    fill(from, bytes, bytes + 1);
    fill(to, bytes + 1, 99);
    send(a, request(wqe_opcode::rdma_write, bytes));
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    expect_pattern(to, bytes, bytes + 1);
    EXPECT_EQ(byte_at(to + bytes), pattern(bytes, 99));
    EXPECT_TRUE(no_completion());
  }
}

TEST_F(rc, reads_fetch_the_remote_bytes_at_every_size) {
  for (const std::uint32_t bytes : sizes) {
    fill(to, bytes, bytes + 2);
    fill(from, bytes + 1, 99);
    send(a, request(wqe_opcode::rdma_read, bytes));
    const auto done = completion();
    EXPECT_EQ(done.get<&layouts::cqe::opcode>(), static_cast<unsigned>(wqe_opcode::rdma_read));
    EXPECT_EQ(done.get<&layouts::cqe::byte_count>(), bytes);
    expect_pattern(from, bytes, bytes + 2);
    EXPECT_EQ(byte_at(from + bytes), pattern(bytes, 99));
  }
}

TEST_F(rc, immediate_data_consume_a_receive_and_are_reported) {
  post_receive(b, to, 64, key);
  post_receive(b, to, 64, key);
  auto s = request(wqe_opcode::send_imm, 3);
  s.immediate = 0xcafe1234;
  send(a, s);
  auto e = completion();
  EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send_imm));
  EXPECT_EQ(e.get<&layouts::cqe::immediate>(), 0xcafe1234u);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send_imm));
  s = request(wqe_opcode::rdma_write_imm, 5000);
  s.remote_address = to + 4096;
  s.immediate = 0x55;
  send(a, s);
  e = completion();
  EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_rdma_write_imm));
  EXPECT_EQ(e.get<&layouts::cqe::immediate>(), 0x55u);
  EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 5000u);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write_imm));
}

TEST_F(rc, atomics_return_the_old_value_and_change_the_word_once) {
  const auto word = [this](std::uint64_t address) {
    std::uint64_t v = 0;
    std::memcpy(&v, &byte_at(address), sizeof v);
    return v;
  };
  const std::uint64_t target = region_start + 0x300000, result = region_start + 64;
  const std::uint64_t start = 1000;
  std::memcpy(&byte_at(target), &start, sizeof start);
  test_send s = request(wqe_opcode::atomic_fa, 8);
  s.address = result;
  s.remote_address = target;
  s.swap_add = 17;
  send(a, s);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::atomic_fa));
  EXPECT_EQ(word(result), 1000u);
  EXPECT_EQ(word(target), 1017u);
  s.opcode = wqe_opcode::atomic_cs;
  s.compare = 1017;
  s.swap_add = 5;
  send(a, s);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::atomic_cs));
  EXPECT_EQ(word(result), 1017u);
  EXPECT_EQ(word(target), 5u);
  send(a, s);  // 5 is not 1017: unchanged
  completion();
  EXPECT_EQ(word(result), 5u);
  EXPECT_EQ(word(target), 5u);
}

TEST_F(rc, many_requests_complete_in_order_round_the_ring) {
  for (unsigned round = 0; round < 5; ++round) {
    for (unsigned i = 0; i < 50; ++i) {
      auto s = request(i % 3 == 0 ? wqe_opcode::rdma_read : wqe_opcode::rdma_write, 100 * i + 1);
      s.signaled = true;
      post_send(a, s);
    }
    ring(a);
    for (unsigned i = 0; i < 50; ++i)
      EXPECT_EQ(completion().get<&layouts::cqe::wqe_index>(), round * 50 + i);
  }
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(rc, unsignaled_sends_complete_silently) {
  for (unsigned i = 0; i < 4; ++i) {
    auto s = request(wqe_opcode::rdma_write, 10);
    s.signaled = i == 3;
    post_send(a, s);
  }
  ring(a);
  EXPECT_EQ(completion().get<&layouts::cqe::wqe_index>(), 3u);
  EXPECT_TRUE(no_completion());
}

TEST_F(rc, a_send_without_receive_waits_and_arrives_when_one_is_posted) {
  fill(from, 3000, 7);
  send(a, request(wqe_opcode::send, 3000));
  EXPECT_TRUE(no_completion());
  EXPECT_GE(driver->counter_named("transport_rnr_waits"), 1u);
  post_receive(b, to, 3000, key);
  host->advance(5'000'000);
  EXPECT_EQ(completion().get<&layouts::cqe::byte_count>(), 3000u);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  expect_pattern(to, 3000, 7);
}

TEST_F(rc, the_communication_established_event_comes_with_the_first_packet_in_rtr) {
  test_qp c = make_qp(0x110), d = make_qp(0x111);
  to_rts(c, d.number);
  ASSERT_EQ(modify(layouts::opcode::rst2init_qp, d.number, first_context(d)),
            layouts::command_status::ok);
  ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, d.number, ready_context(d, c.number)),
            layouts::command_status::ok);
  events(event_type::communication_established);
  send(c, request(wqe_opcode::rdma_write, 1));
  send(c, request(wqe_opcode::rdma_write, 1));
  host->run();
  EXPECT_EQ(events(event_type::communication_established), 1u);
}

TEST_F(rc, blueflame_starts_a_send_when_the_copy_is_whole) {
  for (const std::uint64_t half : {0u, 1u}) {
    post_send(a, request(wqe_opcode::rdma_write, 8));
    copy_to_blueflame(half, 5);
    host->run();
    EXPECT_TRUE(no_completion()) << "of 6 words";
    copy_to_blueflame(half, 7, 5);
    host->run();
    EXPECT_TRUE(no_completion()) << "of the 8 words of its block";
    copy_to_blueflame(half, 8, 7);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  }
  EXPECT_EQ(hca->complaints(), 0u);
  host->advance(2 * limits::blueflame_patience);
  EXPECT_EQ(hca->complaints(), 0u) << "no second doorbell follows";
}

TEST_F(rc, blueflame_starts_a_send_of_a_copy_that_is_cut_off_too) {
  post_send(a, request(wqe_opcode::rdma_write, 8));
  copy_to_blueflame(0, 1);
  EXPECT_TRUE(no_completion());
  host->advance(limits::blueflame_patience);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  // The rest comes late: it is no doorbell any more.
  copy_to_blueflame(0, 6, 1);
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(hca->complaints(), 0u);

  post_send(a, request(wqe_opcode::rdma_write, 8));
  copy_to_blueflame(1, 2);
  EXPECT_TRUE(no_completion());
  copy_to_blueflame(0, 1);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

// As between two processors, or where a store is a message: the doorbell of the entry before
// brought the adapter to this one, and the driver has stamped it since.
TEST_F(rc, blueflame_may_come_late_for_an_entry_that_a_completion_gave_back) {
  for (unsigned i = 0; i < 2; ++i) post_send(a, request(wqe_opcode::rdma_write, 8));
  ring(a);
  for (unsigned i = 0; i < 2; ++i)
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  copy_to_blueflame(0, 4);
  constexpr int stamp = 0x7f;
  std::memset(driver->bytes_of(a.ring, test_qp::stride), stamp, 64);
  copy_to_blueflame(0, 8, 4);
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(hca->complaints(), 0u) << host->complaints.front();
}

TEST_F(rc, blueflame_starts_a_send_whose_block_is_not_filled) {
  post_send(a, request(wqe_opcode::rdma_write, 8));
  copy_to_blueflame(0, 6);
  EXPECT_TRUE(no_completion());
  host->advance(limits::blueflame_patience);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  EXPECT_EQ(hca->complaints(), 0u);
}

}  // namespace freehca::model::test
