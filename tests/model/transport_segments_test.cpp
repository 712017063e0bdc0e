// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests at the limits of what they hold: gather and scatter entries, inline data, nothing
// at all; and queues at the wrap of their counters.
#include <freehca/layouts/query_dev_cap.hpp>

#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;
using layouts::qpc;
using layouts::wqe_ctrl;

namespace {

constexpr std::uint64_t from = 0x7000'0000'0000, to = from + 0x100000;

/// Queue pairs whose entries are as long as hardware takes them: 16 sends of 1024 bytes, 16
/// receives of 512.
class long_requests : public transport_fixture {
 protected:
  static constexpr std::uint32_t entries = 16, stride = 1024, receive_stride = 512;

  long_requests() : a(make(0x100)), b(make(0x101)) {
    for (const test_qp* qp : {&a, &b}) {
      const std::uint32_t remote = qp == &a ? b.number : a.number;
      EXPECT_EQ(modify(opcode::rst2init_qp, qp->number, sized(first_context(*qp))),
                command_status::ok);
      const auto ready = sized(ready_context(*qp, remote));
      EXPECT_EQ(modify(opcode::init2rtr_qp, qp->number, ready), command_status::ok);
      EXPECT_EQ(modify(opcode::rtr2rts_qp, qp->number, ready), command_status::ok);
    }
  }
  static layouts::image<qpc> sized(layouts::image<qpc> c) {
    c.set<&qpc::log_sq_size>(4).set<&qpc::log_sq_stride>(6);
    return c.set<&qpc::log_rq_size>(4).set<&qpc::log_rq_stride>(5);
  }
  test_qp make(std::uint32_t number) {
    test_qp qp;
    qp.number = number;
    qp.ring = driver->make_buffer(6);
    qp.record = host->allocate();
    for (std::uint32_t i = 0; i < entries; ++i) {
      put(qp, std::size_t{i} * stride, layouts::image<wqe_ctrl>{}.set<&wqe_ctrl::owner>(true));
      stamp(qp, i);
    }
    return qp;
  }

  void stamp(const test_qp& qp, std::uint32_t n) {
    for (std::uint32_t at = 64; at < stride; at += 64)
      layouts::store_be(driver->bytes_of(qp.ring, std::size_t{n % entries} * stride + at),
                        layouts::wqe_stamp);
  }

  /// The next send of `a`, taken together piece by piece.
  std::size_t begin() const { return std::size_t{a.sent % entries} * stride; }
  void open(wqe_opcode what) {
    what_ = what;
    stamp(a, a.sent + 3);
    at_ = begin() + wqe_ctrl::bytes;
    if (what == wqe_opcode::send) return;
    using r = layouts::wqe_remote_address;
    put(a, at_, layouts::image<r>{}.set<&r::remote_address>(to).set<&r::rkey>(rkey));
    at_ += r::bytes;
  }
  void gather(std::uint64_t address, std::uint32_t bytes) {
    put(a, at_, data_segment(address, bytes, key));
    at_ += layouts::wqe_data::bytes;
  }
  /// `bytes` bytes of the pattern from `offset` on; `claimed`: what the segment says.
  void add_inline(std::size_t offset, std::uint32_t bytes, std::uint32_t claimed) {
    using i = layouts::wqe_inline;
    put(a, at_, layouts::image<i>{}.set<&i::inline_data>(true).set<&i::byte_count>(claimed));
    for (std::uint32_t n = 0; n < bytes; ++n)
      *driver->bytes_of(a.ring, at_ + i::bytes + n) = pattern(offset + n, 3);
    at_ = (at_ + i::bytes + bytes + 15) / 16 * 16;
  }
  void add_inline(std::size_t offset, std::uint32_t bytes) { add_inline(offset, bytes, bytes); }
  void close() {
    layouts::image<wqe_ctrl> control;
    control.set<&wqe_ctrl::opcode>(what_).set<&wqe_ctrl::ds>((at_ - begin()) / layouts::wqe_unit);
    control.set<&wqe_ctrl::cq_update>(layouts::wqe_completion::always)
        .set<&wqe_ctrl::owner>((a.sent & entries) != 0);
    put(a, begin(), control);
    ++a.sent;
    ring(a);
  }
  void expect_sent() { expect_done(a, true, static_cast<unsigned>(what_)); }
  void receive_into(std::uint32_t pieces, std::uint32_t bytes, std::uint32_t apart) {
    const std::size_t at =
        std::size_t{entries} * stride + std::size_t{b.received % entries} * receive_stride;
    for (std::uint32_t i = 0; i < pieces; ++i)
      put(b, at + i * 16, data_segment(to + std::uint64_t{i} * apart, bytes, key));
    if (pieces * 16 < receive_stride)
      put(b, at + pieces * 16, data_segment(0, 0, layouts::invalid_lkey));
    ++b.received;
    host->store(b.record, layouts::image<layouts::rq_doorbell_record>{}
                              .set<&layouts::rq_doorbell_record::wqe_counter>(b.received));
  }
  void expect_received(std::uint32_t bytes) {
    const auto e = completion();
    EXPECT_EQ(e.get<&layouts::cqe::qpn>(), b.number);
    EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
    EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), bytes);
  }

  test_qp a, b;
  std::uint32_t rkey = key;

 private:
  wqe_opcode what_ = wqe_opcode::send;
  std::size_t at_ = 0;
};

class queue_limits : public transport_fixture {
 protected:
  void connect(test_qp& one, test_qp& other) {
    to_rts(one, other.number);
    to_rts(other, one.number);
    events(event_type::none);
  }
};

}  // namespace

TEST_F(long_requests, as_many_pieces_are_gathered_and_scattered_as_the_card_reports) {
  using cap = layouts::query_dev_cap;
  layouts::image<cap> c;
  ASSERT_EQ(driver->query(opcode::query_dev_cap, c).status, command_status::ok);
  const auto sends = static_cast<std::uint32_t>(c.get<&cap::max_sg_sq>());
  const auto receives = static_cast<std::uint32_t>(c.get<&cap::max_sg_rq>());
  ASSERT_EQ(c.get<&cap::max_desc_sz_sq>(), (sends + 1) * layouts::wqe_unit);
  ASSERT_EQ(c.get<&cap::max_desc_sz_rq>(), receives * layouts::wqe_unit);
  constexpr std::uint32_t piece = 96;
  const std::uint32_t bytes = sends * piece, each = (bytes + receives - 1) / receives;
  fill(from, sends * 128, 1);
  receive_into(receives, each, 512);
  open(wqe_opcode::send);
  for (std::uint32_t i = 0; i < sends; ++i) gather(from + i * 128, piece);
  close();
  expect_received(bytes);
  expect_sent();
  for (std::uint32_t i = 0; i < bytes; ++i)
    ASSERT_EQ(byte_at(to + i / each * 512 + i % each), byte_at(from + i / piece * 128 + i % piece))
        << i;
}

TEST_F(long_requests, inline_data_fill_a_request_to_its_end) {
  open(wqe_opcode::rdma_write);
  // Behind the control and the address segment 32 bytes are left of the first block; 48 of the
  // last.
  std::size_t bytes = 0;
  const auto add = [&](std::uint32_t n) {
    add_inline(bytes, n);
    bytes += n;
  };
  add(28);
  for (unsigned block = 1; block < 15; ++block) add(60);
  add(44);
  close();
  expect_sent();
  expect_pattern(to, bytes, 3);
}

TEST_F(long_requests, inline_and_gathered_pieces_stand_side_by_side) {
  for (std::size_t i = 0; i < 1000; ++i) byte_at(from + i) = pattern(20 + i, 3);
  receive_into(1, 4096, 0);
  open(wqe_opcode::send);
  add_inline(0, 20);
  gather(from, 1000);
  add_inline(1020, 8);
  gather(from + 4096, 0);  // empty
  close();
  expect_received(1028);
  expect_sent();
  expect_pattern(to, 1028, 3);
}

TEST_F(long_requests, inline_segments_that_cannot_be) {
  const auto refused = [this](std::uint32_t bytes, std::uint32_t claimed) {
    open(wqe_opcode::send);
    add_inline(0, bytes, claimed);
    watch();
    close();
    failed_alone(a, failures::local_qp_operation,
                 ("an inline segment of " + std::to_string(claimed) + " bytes").c_str());
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, a.number, 2).status, command_status::ok);
    a = make(a.number);
    ASSERT_EQ(modify(opcode::rst2init_qp, a.number, sized(first_context(a))), command_status::ok);
    const auto ready = sized(ready_context(a, b.number));
    ASSERT_EQ(modify(opcode::init2rtr_qp, a.number, ready), command_status::ok);
    ASSERT_EQ(modify(opcode::rtr2rts_qp, a.number, ready), command_status::ok);
  };
  hca->set_strict(true);
  refused(45, 45);  // into the next block
  hca->set_strict(false);
  refused(12, 100);  // longer than the request
  refused(12, 13);
}

TEST_F(long_requests, a_read_has_no_place_in_inline_data) {
  open(wqe_opcode::rdma_read);
  add_inline(0, 8);
  watch();
  close();
  came({{{a.number, true, failures::local_protection}},
        {},
        {{"port1_packets_looped_back", 2},
         {"port1_packets_received", 2},
         {"port1_packets_sent", 2},
         {"rc_read_requests", 1},
         {"rc_read_responses", 1},
         {"transport_packets_received", 2},
         {"transport_packets_sent", 2}},
        {},
        "an inline segment; wanted: a region"},
       "the error state");
}

TEST_F(long_requests, messages_of_no_bytes_are_messages) {
  const auto nothing = [this](auto&& segments) {
    receive_into(1, 64, 0);
    open(wqe_opcode::send);
    segments();
    close();
    expect_received(0);
    expect_sent();
  };
  nothing([] {});
  nothing([this] { add_inline(0, 0); });  // as libmlx4 writes an empty entry
  nothing([this] { gather(from, 0); });   // as Linux does
}

TEST_F(long_requests, writes_and_reads_of_no_bytes_look_at_no_key) {
  byte_at(to) = std::byte{7};
  rkey = key ^ 0x100;
  for (const wqe_opcode what : {wqe_opcode::rdma_write, wqe_opcode::rdma_read}) {
    open(what);
    close();
    expect_sent();
  }
  EXPECT_EQ(byte_at(to), std::byte{7});
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(queue_limits, an_unreliable_connection_errs_on_its_sending_side_alone) {
  test_qp a = make_qp(0x110, qp_service::uc), b = make_qp(0x111, qp_service::uc);
  connect(a, b);
  test_send wrong = transfer(wqe_opcode::rdma_write, 8, from, to);
  wrong.lkey ^= 1;
  post_send(a, wrong);
  post_send(a, transfer(wqe_opcode::rdma_write, 8, from, to));
  ring(a);
  expect_error(a, true, cqe_syndrome::local_protection,
               layouts::vendor_syndrome::protection_transmit);
  expect_error(a, true, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
  EXPECT_EQ(state_of(a), qp_state::sq_error);
  // It still receives ...
  post_receive(a, to, 64, key);
  send(b, transfer(wqe_opcode::send, 8, from, 0));
  host->run();
  unsigned receives = 0, sends = 0;
  layouts::image<layouts::cqe> e;
  while (driver->next_completion(cq, e)) ++(e.get<&layouts::cqe::is_send>() ? sends : receives);
  driver->tell_consumer(cq);
  EXPECT_EQ(receives, 1u);
  EXPECT_EQ(sends, 1u);
  // ... and sends when it is told to.
  ASSERT_EQ(modify(opcode::sqerr2rts_qp, a.number, ready_context(a, b.number)), command_status::ok);
  send(a, transfer(wqe_opcode::rdma_write, 8, from, to));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(queue_limits, the_counter_of_requests_wraps_after_65536) {
  test_qp a = make_qp(0x110), b = make_qp(0x111);
  connect(a, b);
  test_send nop;
  nop.opcode = wqe_opcode::nop;
  nop.signaled = false;
  while (a.sent != 0xffff) {
    for (unsigned i = 0; i < 50 && a.sent != 0xffff; ++i) post_send(a, nop);
    ring(a);
    host->run();
  }
  EXPECT_TRUE(no_completion());
  nop.signaled = true;
  post_send(a, nop);
  post_send(a, nop);
  ring(a);
  EXPECT_EQ(completion().get<&layouts::cqe::wqe_index>(), 0xffffu);
  EXPECT_EQ(completion().get<&layouts::cqe::wqe_index>(), 0u);
  EXPECT_EQ(context_of(a).get<&qpc::sq_wqe_counter>(), 1u);
}

TEST_F(queue_limits, a_solicited_message_wakes_who_waits_for_one_only) {
  test_qp a = make_qp(0x110), b = make_qp(0x111);
  connect(a, b);
  for (unsigned i = 0; i < 2; ++i) post_receive(b, to, 64, key);
  driver->arm_cq(cq, layouts::cq_arm::solicited);
  test_send s = transfer(wqe_opcode::send, 8, from, 0);
  send(a, s);
  EXPECT_EQ(events(event_type::completion), 0u);
  s.solicited = true;
  send(a, s);
  EXPECT_EQ(events(event_type::completion), 1u);
}

}  // namespace freehca::model::test
