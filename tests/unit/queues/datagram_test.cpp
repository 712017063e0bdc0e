// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/sq.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using work_requests::send_opcode;
using work_requests::send_request;

using namespace layouts;
using testing::doorbell_page;
using testing::ring_memory;

struct datagram_test : ::testing::Test {
  static constexpr unsigned gather = 3;
  static constexpr std::uint32_t most_inline = 100, mtu = 2048;
  sq_shape shape = sq_shape_for(8, gather, most_inline, datagram_header_bytes).value();
  ring_memory memory{shape.bytes()};
  doorbell_page doorbells;
  std::vector<posted_request> slots = std::vector<posted_request>(shape.entries());
  sq queue;
  address group;

  void SetUp() override {
    open(opcodes_of_datagrams());
    group.vector.set<&address_vector::port>(1)
        .set<&address_vector::pd>(0x1234)
        .set<&address_vector::grh>(true)
        .set<&address_vector::my_lid_smac_idx>(5)
        .set<&address_vector::rlid>(0xc011)
        .set<&address_vector::mgid_index>(3)
        .set<&address_vector::static_rate>(2)
        .set<&address_vector::hop_limit>(0x40)
        .set<&address_vector::sl>(4)
        .set<&address_vector::tclass>(0x56)
        .set<&address_vector::flow_label>(0x789ab);
    std::byte gid[16];
    for (unsigned i = 0; i < 16; ++i) gid[i] = static_cast<std::byte>(0xf0 + i);
    group.vector.set_bytes<&address_vector::dgid>(gid);
    group.vlan_and_mac =
        in_word<&wqe_datagram::vlan>(0xa007) | in_word<&wqe_datagram::dmac>(0x0123456789ab);
  }
  void open(std::uint64_t opcodes) {
    ASSERT_TRUE(queue
                    .open({memory.region(shape.bytes()), shape, slots.data(), doorbells.region(), 7,
                           gather, most_inline, mtu, opcodes})
                    .ok());
    queue.accept(true);
  }
  datagram_destination to() const { return {&group, 0x123456, 0x80010203}; }
  std::vector<std::byte> ring() { return {memory.at(0), memory.at(shape.bytes())}; }
  image<wqe_ctrl> control(std::size_t n) { return memory.read<wqe_ctrl>(n << shape.log_stride); }
  image<wqe_data> data(std::size_t n, std::size_t at) {
    return memory.read<wqe_data>((n << shape.log_stride) + at);
  }
  status posted(const send_request& r) { return work_requests::post(queue, r); }
  template <class Request>
  status posted(const Request& r) {
    return queue.post(r);
  }
  /// Expects that the post is refused and changes nothing.
  template <class Request>
  void refuses(const Request& r, driver_error why) {
    const auto before = ring();
    EXPECT_TRUE(posted(r).is(why));
    EXPECT_EQ(ring(), before);
    EXPECT_EQ(queue.posted(), 0u);
  }
};

/// Bytes written by hand from Linux 6.1 include/linux/mlx4/qp.h and device.h (struct
/// mlx4_wqe_ctrl_seg, mlx4_av, mlx4_wqe_datagram_seg, mlx4_wqe_data_seg).
TEST_F(datagram_test, the_wqe_has_the_bytes_that_linux_writes) {
  ASSERT_TRUE(queue
                  .post(send_datagram_with_immediate{
                      .wr_id = 1,
                      .to = to(),
                      .data = {0x1122334455667788, 0x63, 0xaabbccdd},
                      .immediate = 0xdeadbeef,
                      .flags = request_flags::signaled | request_flags::solicited})
                  .ok());
  constexpr unsigned char wanted[] = {
      0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x05,  // opcode, ds
      0x00, 0x00, 0x00, 0x0e, 0xde, 0xad, 0xbe, 0xef,  // signaled and solicited, immediate
      0x01, 0x00, 0x12, 0x34, 0x00, 0x85, 0xc0, 0x11,  // port and PD, GRH and path, DLID
      0x00, 0x03, 0x02, 0x40, 0x45, 0x67, 0x89, 0xab,  // GID index, rate, hops; SL, class, flow
      0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,  // DGID
      0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,  //
      0x00, 0x12, 0x34, 0x56, 0x80, 0x01, 0x02, 0x03,  // QPN, Q_Key
      0xa0, 0x07, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,  // VLAN, MAC
      0x00, 0x00, 0x00, 0x63, 0xaa, 0xbb, 0xcc, 0xdd,  // length, L_Key
      0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,  // address
  };
  for (std::size_t i = 0; i < sizeof wanted; ++i)
    EXPECT_EQ(static_cast<unsigned>(*memory.at(i)), wanted[i]) << "byte " << i;
}

TEST_F(datagram_test, one_that_is_known_at_run_time_is_the_same) {
  const data_entry list[] = {{0x1000, 5, 0x800}, {0x2000, 6, 0x900}};
  std::byte bytes[100] = {};
  const auto typed = [&](auto request, auto content) {
    queue.reset();
    queue.accept(true);
    request.to = to();
    request.data = content;
    EXPECT_TRUE(queue.post(request).ok());
    return ring();
  };
  const auto any = [&](send_request r) {
    queue.reset();
    queue.accept(true);
    r.to = &group;
    r.remote_qpn = 0x123456;
    r.qkey = 0x80010203;
    EXPECT_TRUE(work_requests::post(queue, r).ok());
    return ring();
  };
  EXPECT_EQ(typed(send_datagram{}, list[0]), any({.list = list, .entries = 1}));
  EXPECT_EQ(typed(send_datagram_list{}, data_list{list, 2}), any({.list = list, .entries = 2}));
  EXPECT_EQ(typed(send_datagram_inline{}, inline_data{bytes, 100}),
            any({.inline_bytes = bytes, .inline_length = 100}));
  const auto immediate = send_opcode::send_with_immediate;
  EXPECT_EQ(typed(send_datagram_with_immediate{}, list[0]),
            any({.list = list, .entries = 1, .opcode = immediate}));
  EXPECT_EQ(typed(send_datagram_with_immediate_list{}, data_list{list, 2}),
            any({.list = list, .entries = 2, .opcode = immediate}));
  EXPECT_EQ(typed(send_datagram_with_immediate_inline{}, inline_data{bytes, 1}),
            any({.inline_bytes = bytes, .inline_length = 1, .opcode = immediate}));
  EXPECT_EQ(queue.retire_oldest()->opcode, work_opcode::send);
}

TEST_F(datagram_test, an_entry_of_no_bytes_has_no_segment) {
  ASSERT_TRUE(queue.post(send_datagram_with_immediate{.to = to(), .immediate = 9}).ok());
  EXPECT_EQ(control(0).get<&wqe_ctrl::ds>(), 4u);
  EXPECT_EQ(control(0).get<&wqe_ctrl::opcode>(), wqe_opcode::send_imm);
  EXPECT_EQ(control(0).get<&wqe_ctrl::immediate>(), 9u);
  EXPECT_EQ(memory.read<wqe_datagram>(16).get<&wqe_datagram::dqpn>(), 0x123456u);
  EXPECT_EQ(memory.word(64), wqe_stamp) << "nothing is written behind the datagram segment";
  const data_entry list[] = {{1, 0, 1}, {0x2000, 6, 0x900}, {1, 0, 1}, {0x3000, 7, 0xa00}};
  ASSERT_TRUE(queue.post(send_datagram_list{.to = to(), .data = {list, 4}}).ok());
  EXPECT_EQ(control(1).get<&wqe_ctrl::ds>(), 6u);
  EXPECT_EQ(data(1, 64).get<&wqe_data::lkey>(), 0x900u);
  EXPECT_EQ(data(1, 80).get<&wqe_data::lkey>(), 0xa00u);
}

TEST_F(datagram_test, inline_data_begin_with_the_second_block) {
  std::byte payload[most_inline];
  for (std::size_t i = 0; i < sizeof payload; ++i) payload[i] = static_cast<std::byte>(i + 1);
  ASSERT_TRUE(queue.post(send_datagram_inline{.to = to(), .data = {payload, most_inline}}).ok());
  EXPECT_EQ(control(0).get<&wqe_ctrl::ds>(), 11u) << "60 bytes, and 40 behind another head";
  EXPECT_EQ(memory.word(64), 0x80000000u | 60);
  EXPECT_EQ(memory.word(128), 0x80000000u | 40);
  EXPECT_TRUE(std::equal(payload, payload + 60, memory.at(68)));
  EXPECT_TRUE(std::equal(payload + 60, payload + 100, memory.at(132)));
}

TEST_F(datagram_test, what_cannot_be_sent_is_refused) {
  refuses(send_datagram{.to = {nullptr, 1, 2}}, driver_error::bad_argument);
  refuses(send_datagram{.to = {&group, 1 << 24, 2}}, driver_error::bad_argument);
  refuses(send_datagram{.to = to(), .data = {0, mtu + 1, 1}}, driver_error::bad_argument);
  refuses(send_datagram_inline{.to = to(), .data = {nullptr, 1}}, driver_error::bad_argument);
  const std::vector<std::byte> bytes(most_inline + 1);
  refuses(send_datagram_inline{.to = to(), .data = {bytes.data(), most_inline + 1}},
          driver_error::bad_argument);
  const data_entry list[] = {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}};
  refuses(send_datagram_list{.to = to(), .data = {list, 4}}, driver_error::bad_argument);
}

TEST_F(datagram_test, a_datagram_queue_sends_nothing_else) {
  refuses(send{}, driver_error::unsupported);
  refuses(send_with_immediate{}, driver_error::unsupported);
  refuses(rdma_write{}, driver_error::unsupported);
  refuses(rdma_read{}, driver_error::unsupported);
  refuses(fetch_and_add{.data = {0, 8, 1}}, driver_error::unsupported);
  refuses(send_request{}, driver_error::unsupported);
  refuses(send_request{.opcode = send_opcode::rdma_write, .to = &group}, driver_error::unsupported);
  EXPECT_TRUE(queue.post(nop{}).ok());
}

TEST_F(datagram_test, a_connection_sends_no_datagrams) {
  for (const std::uint64_t opcodes :
       {opcodes_of_a_connection(true), opcodes_of_an_unreliable_connection()}) {
    open(opcodes);
    refuses(send_datagram{.to = to()}, driver_error::unsupported);
    refuses(send_datagram_with_immediate{.to = to()}, driver_error::unsupported);
    refuses(send_request{.to = &group}, driver_error::unsupported);
  }
  refuses(rdma_read{}, driver_error::unsupported);
  refuses(compare_and_swap{.data = {0, 8, 1}}, driver_error::unsupported);
  for (const status s :
       {queue.post(send{}), queue.post(send_with_immediate{}), queue.post(rdma_write{}),
        queue.post(rdma_write_with_immediate{}), queue.post(nop{})})
    EXPECT_TRUE(s.ok());
}

TEST_F(datagram_test, a_ring_has_room_for_the_datagram_segment) {
  const sq_shape of_a_connection = sq_shape_for(8, 2, 0).value();
  const sq_resources r{
      memory.region(shape.bytes()), of_a_connection, slots.data(), doorbells.region(), 7, 2, 0, mtu,
      opcodes_of_datagrams()};
  ASSERT_EQ(of_a_connection.log_stride, 6);
  EXPECT_TRUE(queue.open(r).is(driver_error::bad_argument));
  EXPECT_FALSE(sq_shape_for(1, 60, 0, datagram_header_bytes).ok()) << "ds has six bits";
  EXPECT_TRUE(sq_shape_for(1, 59, 0, datagram_header_bytes).ok());
}

}  // namespace
}  // namespace freehca::queues
