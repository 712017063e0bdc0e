// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Compares typed requests with the same requests whose opcode is known only at run time, and with
// bytes built from the layouts. Tests runs of requests, and streams.
#include <freehca/queues/masked_atomics.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/xrc_requests.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "reference_wqe.hpp"
#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using work_requests::send_opcode;
using work_requests::send_request;

using namespace layouts;
using testing::doorbell_page;
using testing::ring_memory;

constexpr std::uint32_t qpn = 0x123456;
constexpr auto every_right = static_cast<std::uint64_t>(
    registration_rights::local_write | registration_rights::remote_read |
    registration_rights::remote_write | registration_rights::remote_atomic);
constexpr auto every_window_right = static_cast<std::uint64_t>(
    window_rights::remote_read | window_rights::remote_write | window_rights::remote_atomic);

/// A send queue with its own memory.
struct made_queue {
  sq_shape shape = sq_shape_for(8, 4, 100).value();
  ring_memory memory{shape.bytes()};
  doorbell_page doorbells;
  std::vector<posted_request> slots = std::vector<posted_request>(shape.entries());
  sq queue;

  /// The queue of a connection, or with `extended` of an extended one (XRC).
  explicit made_queue(bool atomics = true, bool extended = false) {
    open(connection_opcodes(atomics, extended));
  }
  explicit made_queue(std::uint64_t opcodes) { open(opcodes); }
  static std::uint64_t connection_opcodes(bool atomics, bool extended) {
    const std::uint64_t all = opcodes_of_a_connection(atomics) | opcodes_of_memory_management() |
                              opcodes_of_memory_windows() | opcodes_of_masked_atomics() |
                              opcode_bit(wqe_opcode::send_inval);
    return extended ? opcodes_of_xrc(all) : all;
  }
  void open(std::uint64_t opcodes) {
    EXPECT_TRUE(queue
                    .open({memory.region(shape.bytes()), shape, slots.data(), doorbells.region(),
                           qpn, 4, 100, 1u << 20, opcodes})
                    .ok());
    queue.accept(true);
  }
  std::vector<std::byte> ring() { return {memory.at(0), memory.at(shape.bytes())}; }
  /// The bytes of the WQE that was posted last, with its owner bit cleared.
  std::vector<std::byte> last_posted() {
    const std::size_t at = std::size_t{(queue.posted() - 1) & (shape.entries() - 1)}
                           << shape.log_stride;
    auto head = memory.read<wqe_ctrl>(at);
    std::vector<std::byte> bytes(memory.at(at), memory.at(at + 16 * head.get<&wqe_ctrl::ds>()));
    head.set<&wqe_ctrl::owner>(false);
    std::memcpy(bytes.data(), head.data(), wqe_ctrl::bytes);
    return bytes;
  }
  bool rang() { return doorbells.word(uar::send_doorbell) != 0; }
};

/// A request of any opcode, with inline data in `bytes` or entries in `list`.
struct any_request {
  send_request as_known_at_run_time;
  data_list list;
  inline_data bytes;
  bool extended = false;

  template <class Request>
  status post(sq& queue, Request r) const {
    const send_request& from = as_known_at_run_time;
    r.wr_id = from.wr_id;
    r.flags = (from.signaled ? request_flags::signaled : request_flags::none) |
              (from.solicited ? request_flags::solicited : request_flags::none) |
              (from.fence ? request_flags::fence : request_flags::none);
    if constexpr (requires { r.remote; }) r.remote = {from.remote_address, from.rkey};
    if constexpr (requires { r.immediate; }) r.immediate = from.immediate;
    if constexpr (requires { r.invalidated; }) r.invalidated = from.rkey;
    if constexpr (requires { r.data.lkey; }) r.data = list.first[0];
    if constexpr (requires { r.data.count; }) r.data = list;
    if constexpr (requires { r.data.from; }) r.data = bytes;
    if constexpr (requires { r.operand; }) r.operand = from.swap_or_add;
    if constexpr (requires { r.compare; }) r.compare = from.compare;
    if constexpr (requires { r.operand_mask; }) {
      r.operand_mask = from.swap_or_add_mask;
      r.compare_mask = from.compare_mask;
    }
    if constexpr (requires { r.boundaries; }) r.boundaries = from.swap_or_add_mask;
    return extended ? queue.post(xrc<Request>{r, from.remote_srqn}) : queue.post(r);
  }
  template <template <class> class Of>
  status post_as(sq& queue) const {
    if (bytes.from != nullptr) return post(queue, Of<inline_data>{});
    return list.count == 1 ? post(queue, Of<data_entry>{}) : post(queue, Of<data_list>{});
  }
  status post_typed(sq& queue) const {
    const send_request& r = as_known_at_run_time;
    switch (r.opcode) {
      case send_opcode::send:
        return post_as<send_of>(queue);
      case send_opcode::send_with_immediate:
        return post_as<send_with_immediate_of>(queue);
      case send_opcode::rdma_write:
        return post_as<rdma_write_of>(queue);
      case send_opcode::rdma_write_with_immediate:
        return post_as<rdma_write_with_immediate_of>(queue);
      case send_opcode::rdma_read:
        return list.count == 1 ? post(queue, rdma_read{}) : post(queue, rdma_read_list{});
      case send_opcode::compare_and_swap:
        return post(queue, compare_and_swap{});
      case send_opcode::fetch_and_add:
        return post(queue, fetch_and_add{});
      case send_opcode::nop:
        return post(queue, nop{});
      case send_opcode::masked_compare_and_swap:
        return post(queue, masked_compare_and_swap{});
      case send_opcode::masked_fetch_and_add:
        return post(queue, masked_fetch_and_add{});
      case send_opcode::send_with_invalidate:
        return post_as<send_with_invalidate_of>(queue);
      case send_opcode::fast_register:
        return post(queue, fast_register{.memory = *r.memory});
      case send_opcode::local_invalidate:
        return post(queue, local_invalidate{.memory = {r.rkey}});
      case send_opcode::bind_window:
        return post(queue, bind_window{.memory = *r.binding});
      case send_opcode::send_frame:
      case send_opcode::send_large_frame:
        break;  // not requests of a connection
    }
    return driver_error::unsupported;
  }
};

/// Posts 20000 random requests. More than `least` of them must be accepted.
void expect_the_same_bytes(bool extended, unsigned least) {
  std::mt19937_64 random(20261123);
  const auto below = [&random](std::uint64_t most) { return random() % most; };
  made_queue typed(true, extended), known_at_run_time(true, extended);
  std::vector<std::byte> bytes(128);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  unsigned posted = 0, refused = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    std::vector<data_entry> list(below(7));
    for (data_entry& e : list) {
      const std::uint32_t lengths[] = {0, 8, 64, 4096, 1u << 20, (1u << 20) + 1, 0xffffffff};
      e = {random(), lengths[below(std::size(lengths))], static_cast<std::uint32_t>(random())};
    }
    any_request any;
    send_request& r = any.as_known_at_run_time;
    r = {.wr_id = random(),
         .opcode = static_cast<send_opcode>(below(14)),
         .signaled = below(2) == 0,
         .solicited = below(2) == 0,
         .fence = below(2) == 0,
         .immediate = static_cast<std::uint32_t>(random()),
         .rkey = static_cast<std::uint32_t>(random()),
         .remote_address = random(),
         .swap_or_add = random(),
         .compare = random(),
         .swap_or_add_mask = random(),
         .compare_mask = random(),
         .remote_srqn = static_cast<std::uint32_t>(random() >> (below(8) == 0 ? 39 : 40))};
    const bool atomic = r.opcode == send_opcode::compare_and_swap ||
                        r.opcode == send_opcode::fetch_and_add ||
                        r.opcode == send_opcode::masked_compare_and_swap ||
                        r.opcode == send_opcode::masked_fetch_and_add;
    if (atomic) list.resize(1);
    const bool no_data = r.opcode == send_opcode::nop || r.opcode == send_opcode::fast_register ||
                         r.opcode == send_opcode::local_invalidate ||
                         r.opcode == send_opcode::bind_window;
    if (no_data) list.clear();
    any.extended = extended && !no_data;
    const registration memory{static_cast<std::uint32_t>(random()),
                              random() << (below(8) == 0 ? 5 : 6),
                              random(),
                              random() >> below(64),
                              static_cast<unsigned>(11 + below(22)),
                              static_cast<registration_rights>(random() & every_right)};
    r.memory = &memory;
    const window_binding binding{static_cast<std::uint32_t>(random()),
                                 static_cast<std::uint32_t>(random()),
                                 random(),
                                 below(8) == 0 ? 0 : random() >> below(64),
                                 static_cast<window_rights>(random() & every_window_right),
                                 static_cast<window_type>(below(2))};
    r.binding = &binding;
    if (!atomic && !no_data && r.opcode != send_opcode::rdma_read && below(3) == 0) {
      any.bytes = {bytes.data(), static_cast<std::uint32_t>(below(bytes.size()))};
      r.inline_bytes = any.bytes.from;
      r.inline_length = any.bytes.length;
    } else {
      any.list = {list.data(), static_cast<std::uint32_t>(list.size())};
      r.list = list.data();
      r.entries = static_cast<unsigned>(list.size());
    }
    const status one = any.post_typed(typed.queue),
                 other = work_requests::post(known_at_run_time.queue, r);
    ASSERT_EQ(one.code(), other.code()) << i;
    ASSERT_EQ(one.who(), other.who()) << i;
    ++(one.ok() ? posted : refused);
    ASSERT_EQ(typed.ring(), known_at_run_time.ring()) << i;
    if (one.ok()) {
      ASSERT_TRUE(testing::reference_wqe(r, extended).is(typed.last_posted())) << i;
    }
    for (made_queue* q : {&typed, &known_at_run_time})
      while (q->queue.outstanding() > 6) ASSERT_NE(q->queue.retire_oldest(), nullptr);
  }
  EXPECT_GT(posted, least);
  EXPECT_GT(refused, 2'000u);
}

TEST(requests_test, typed_requests_are_those_of_run_time_byte_for_byte) {
  expect_the_same_bytes(false, 8'000);
}
TEST(requests_test, so_are_those_of_extended_connections) {
  expect_the_same_bytes(true, 6'000);
}

TEST(requests_test, extended_connections_name_the_queue_that_is_meant) {
  made_queue q(true, true);
  const auto second_word = [&q](std::size_t n) {
    return q.memory.read<wqe_ctrl>(n << q.shape.log_stride);
  };
  ASSERT_TRUE(q.queue.post(xrc<send>{{.data = {1, 2, 3}}, 0xabcdef}).ok());
  EXPECT_EQ(second_word(0).get<&wqe_ctrl::remote_srqn>(), 0xabcdefu);
  EXPECT_EQ(second_word(0).get<&wqe_ctrl::cq_update>(), wqe_completion::always);
  ASSERT_TRUE(
      q.queue.post(xrc<send_with_immediate>{{.data = {1, 0, 3}, .immediate = 7}, 0x123}).ok());
  EXPECT_EQ(second_word(1).get<&wqe_ctrl::remote_srqn>(), 0x123u) << "of no bytes";
  EXPECT_EQ(second_word(1).get<&wqe_ctrl::immediate>(), 7u);
  EXPECT_EQ(second_word(1).get<&wqe_ctrl::ds>(), 1u);
  const auto before = q.ring();
  EXPECT_TRUE(q.queue.post(xrc<send>{{}, 0x1000000}).is(driver_error::bad_argument));
  EXPECT_TRUE(q.queue.post(send{}).is(driver_error::unsupported)) << "names no queue";
  EXPECT_TRUE(q.queue.post(xrc<local_invalidate>{}).is(driver_error::unsupported));
  EXPECT_TRUE(
      work_requests::post(q.queue, {.remote_srqn = 0x1000000}).is(driver_error::bad_argument));
  address peer;
  EXPECT_TRUE(q.queue.post(send_datagram{.to = {&peer}}).is(driver_error::unsupported));
  EXPECT_TRUE(work_requests::post(q.queue, {.to = &peer}).is(driver_error::unsupported));
  EXPECT_EQ(q.ring(), before);
  EXPECT_TRUE(q.queue.post(local_invalidate{}).ok()) << "is for nobody else";
  made_queue plain;
  EXPECT_TRUE(plain.queue.post(xrc<send>{}).is(driver_error::unsupported));
}

TEST(requests_test, a_masked_swap_needs_a_queue_with_room_for_it) {
  made_queue q;
  const sq_shape small = sq_shape_for(8, 1, 0).value();
  EXPECT_TRUE(
      q.queue
          .open({q.memory.region(q.shape.bytes()), small, q.slots.data(), q.doorbells.region(), qpn,
                 1, 0, 1u << 20, opcodes_of_a_connection(true) | opcodes_of_masked_atomics()})
          .is(driver_error::bad_argument));
}

TEST(requests_test, what_the_device_has_not_is_refused) {
  made_queue without(false);
  const auto before = without.ring();
  EXPECT_TRUE(without.queue.post(fetch_and_add{.data = {0, 8, 1}}).is(driver_error::unsupported));
  EXPECT_EQ(without.ring(), before);
  sq closed;
  EXPECT_TRUE(closed.post(send{}).is(driver_error::bad_state));
}

TEST(requests_test, many_ring_once_behind_their_last_request) {
  made_queue q;
  for (unsigned round = 0; round < 100; ++round) {
    q.doorbells.clear();
    send requests[5];
    for (unsigned i = 0; i < 5; ++i) requests[i] = {.wr_id = 5 * round + i, .data = {1, 2, 3}};
    ASSERT_EQ(q.queue.post_many(requests, 5), 5u);
    EXPECT_FALSE(q.rang());
    q.queue.ring();
    EXPECT_TRUE(q.rang());
    ASSERT_EQ(q.queue.outstanding(), 5u);
    for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(q.queue.retire_oldest()->wr_id, 5 * round + i);
  }
}

TEST(requests_test, requests_of_several_types_ring_once) {
  made_queue q;
  const send one{.wr_id = 1};
  EXPECT_TRUE(q.queue.post(rdma_write{.wr_id = 0}).ok());
  EXPECT_EQ(q.queue.post_many(&one, 1), 1u);
  EXPECT_TRUE(work_requests::post(q.queue, {.wr_id = 2}).ok());
  EXPECT_FALSE(q.rang());
  q.queue.ring();
  EXPECT_TRUE(q.rang());
  for (std::uint64_t id = 0; id <= 2; ++id) EXPECT_EQ(q.queue.retire_oldest()->wr_id, id);
}

// Runs of requests that meet the ends of the ring and of a prepared run at all positions.
TEST(requests_test, many_are_the_bytes_of_as_many_single_posts) {
  constexpr std::uint64_t far = 0x1'0000'0000;
  for (const std::uint32_t length : {0u, 1u, 64u})
    for (unsigned count = 1; count <= 4; ++count) {
      made_queue many, single, streamed;
      for (unsigned n = 0; n < 60; n += count) {
        rdma_write r[4];
        stream<rdma_write>::place places[4];
        const rdma_write like{.remote = {0x1234'5678'9abc, 0x77},
                              .data = {0x1'2345'6789, length, 0x55},
                              .flags = request_flags::fence | request_flags::solicited};
        for (unsigned i = 0; i < count; ++i) {
          r[i] = like;
          r[i].wr_id = n + i;
          r[i].remote.address += 3 * i;
          r[i].data.address += far * i;
          places[i] = {n + i, far * i, 3 * i};
          ASSERT_TRUE(single.queue.post(r[i]).ok());
        }
        ASSERT_EQ(many.queue.post_many(r, count, like.flags), count);
        EXPECT_EQ(many.ring(), single.ring());
        const stream<rdma_write> alike(like, places);
        ASSERT_EQ(streamed.queue.post_many(alike, count, like.flags), count);
        EXPECT_EQ(streamed.ring(), single.ring());
        for (sq* queue : {&many.queue, &single.queue, &streamed.queue})
          for (unsigned i = 0; queue->outstanding() != 0; ++i) {
            const posted_request* const ended = queue->retire_oldest();
            ASSERT_NE(ended, nullptr);
            EXPECT_EQ(ended->wr_id, n + i);
            EXPECT_EQ(ended->opcode, work_opcode::rdma_write);
          }
      }
    }
}

/// Posts runs of `count` requests of a type with lists. Each list is shorter than the queue allows.
/// The rings have been used before.
template <class Request>
void expect_lists_are_counted_apart(Request like, unsigned count) {
  made_queue many, single;
  for (unsigned n = 0; n < 60; n += count) {
    const data_entry entries[] = {{0x1000 + n, 8, 1}, {}, {0x2000 + n, 16, 2}};
    std::vector<Request> requests(count, like);
    for (unsigned i = 0; i < count; ++i) {
      requests[i].wr_id = n + i;
      requests[i].data = {entries, 1 + i % 3};
      ASSERT_TRUE(single.queue.post(requests[i]).ok());
    }
    ASSERT_EQ(many.queue.post_many(requests.data(), count, like.flags), count);
    EXPECT_EQ(many.ring(), single.ring()) << n;
    while (single.queue.outstanding() != 0) {
      const posted_request *const one = single.queue.retire_oldest(), *const of_many =
                                                                          many.queue
                                                                              .retire_oldest();
      ASSERT_NE(of_many, nullptr);
      EXPECT_EQ(of_many->wr_id, one->wr_id);
      EXPECT_EQ(of_many->bytes, one->bytes) << "the most that an answer may bring";
    }
  }
}

TEST(requests_test, each_list_of_many_is_counted_apart) {
  for (const unsigned count : {3u, 4u, 6u, 8u}) {
    expect_lists_are_counted_apart(rdma_write_list{}, count);
    expect_lists_are_counted_apart(rdma_read_list{}, count);
    expect_lists_are_counted_apart(send_list{}, count);
  }
}

/// Posts runs of a request with `flags`, which are not the request's own.
template <class Request>
void expect_the_flags_of_the_run(const Request& like, std::uint64_t opcodes) {
  for (const request_flags flags :
       {request_flags::none, request_flags::signaled,
        request_flags::signaled | request_flags::solicited | request_flags::fence}) {
    made_queue many(opcodes), single(opcodes);
    for (unsigned n = 0; n < 24; n += 4) {
      Request requests[4];
      for (unsigned i = 0; i < 4; ++i) {
        requests[i] = like;
        requests[i].wr_id = n + i;
        requests[i].flags = request_flags::fence;
        Request alone = requests[i];
        alone.flags = flags;
        ASSERT_TRUE(single.queue.post(alone).ok());
      }
      ASSERT_EQ(many.queue.post_many(requests, 4, flags), 4u);
      EXPECT_EQ(many.ring(), single.ring()) << n;
      while (many.queue.retire_oldest() != nullptr) single.queue.retire_oldest();
    }
  }
}

TEST(requests_test, many_of_each_form_have_the_flags_of_the_run) {
  const remote_memory there{0x1234'5678'9abc, 0x77};
  const data_entry here{0x1'2345'6789, 8, 0x55};
  static const address peer{};
  const std::uint64_t connection = made_queue::connection_opcodes(true, false);
  const std::uint64_t extended = made_queue::connection_opcodes(true, true);
  expect_the_flags_of_the_run(send{.data = here}, connection);
  expect_the_flags_of_the_run(rdma_read{.remote = there, .data = here}, connection);
  expect_the_flags_of_the_run(
      rdma_write_with_immediate{.remote = there, .data = here, .immediate = 7}, connection);
  expect_the_flags_of_the_run(compare_and_swap{.remote = there, .compare = 5, .data = here},
                              connection);
  expect_the_flags_of_the_run(fetch_and_add{.remote = there, .operand = 5, .data = here},
                              connection);
  expect_the_flags_of_the_run(
      masked_compare_and_swap{.remote = there, .compare = 5, .compare_mask = 6, .data = here},
      connection);
  expect_the_flags_of_the_run(masked_fetch_and_add{.remote = there, .operand = 5, .data = here},
                              connection);
  expect_the_flags_of_the_run(xrc<send>{{.data = here}, 0x123}, extended);
  expect_the_flags_of_the_run(xrc<compare_and_swap>{{.remote = there, .data = here}, 0x123},
                              extended);
  expect_the_flags_of_the_run(send_datagram{.to = {&peer, 5, 6}, .data = here},
                              opcodes_of_datagrams());
}

TEST(requests_test, a_stream_of_reads_is_the_bytes_of_as_many_reads) {
  made_queue streamed, single;
  const rdma_read like{.remote = {0x1000, 2}, .data = {0x3000, 64, 4}};
  const stream<rdma_read>::place places[] = {{1, 0, 64}, {2, 64, 0}, {3, 128, 4096}};
  for (const auto& place : places)
    ASSERT_TRUE(single.queue
                    .post(rdma_read{.wr_id = place.wr_id,
                                    .remote = {0x1000 + place.there, 2},
                                    .data = {0x3000 + place.here, 64, 4}})
                    .ok());
  ASSERT_EQ(streamed.queue.post_many(stream<rdma_read>(like, places), 3), 3u);
  EXPECT_EQ(streamed.ring(), single.ring());
  for (const auto& place : places) {
    const posted_request* const ended = streamed.queue.retire_oldest();
    ASSERT_NE(ended, nullptr);
    EXPECT_EQ(ended->wr_id, place.wr_id);
    EXPECT_EQ(ended->opcode, work_opcode::rdma_read);
    EXPECT_EQ(ended->bytes, 64u) << "the most that the answer may bring";
  }
}

TEST(requests_test, many_end_before_the_first_that_is_refused) {
  made_queue q;
  send requests[4];
  for (unsigned i = 0; i < 4; ++i) requests[i] = {.wr_id = i, .data = {1, 2, 3}};
  requests[2].data.length = most_data_bytes + 1;
  EXPECT_EQ(q.queue.post_many(requests, 4), 2u);
  EXPECT_TRUE(q.queue.post(requests[2]).is(driver_error::bad_argument));
  EXPECT_EQ(q.queue.outstanding(), 2u);
  address peer;
  const send_datagram elsewhere{.to = {&peer}};
  const auto before = q.ring();
  EXPECT_EQ(q.queue.post_many(&elsewhere, 1), 0u);
  EXPECT_TRUE(q.queue.post(elsewhere).is(driver_error::unsupported));
  q.queue.accept(false);
  EXPECT_EQ(q.queue.post_many(requests, 1), 0u);
  EXPECT_TRUE(q.queue.post(requests[0]).is(driver_error::bad_state));
  EXPECT_EQ(q.ring(), before);
}

TEST(requests_test, a_queue_that_stops_does_not_ring_for_what_it_has) {
  made_queue q;
  const send one{.wr_id = 1};
  EXPECT_EQ(q.queue.post_many(&one, 1), 1u);
  q.queue.accept(false);
  q.queue.ring();
  EXPECT_FALSE(q.rang());
}

TEST(requests_test, a_list_may_be_as_long_as_a_message) {
  made_queue q;
  ASSERT_TRUE(
      q.queue
          .open({q.memory.region(q.shape.bytes()), q.shape, q.slots.data(), q.doorbells.region(),
                 qpn, 4, 100, std::uint64_t{1} << 31, opcodes_of_a_connection(true)})
          .ok());
  q.queue.accept(true);
  const data_entry halves[3] = {{0, 1u << 30, 1}, {1u << 30, 1u << 30, 1}, {0, 1, 1}};
  EXPECT_TRUE(q.queue.post(send_list{.data = {halves, 2}}).ok());
  EXPECT_TRUE(q.queue.post(send_list{.data = {halves, 3}}).is(driver_error::bad_argument));
}

TEST(requests_test, an_atomic_may_have_entries_of_no_bytes) {
  made_queue q;
  const data_entry list[2] = {{1, 8, 2}, {3, 0, 4}};
  EXPECT_TRUE(work_requests::post(
                  q.queue, {.list = list, .entries = 2, .opcode = send_opcode::fetch_and_add})
                  .ok());
  EXPECT_TRUE(work_requests::post(
                  q.queue, {.list = list + 1, .entries = 1, .opcode = send_opcode::fetch_and_add})
                  .is(driver_error::bad_argument));
}

TEST(requests_test, lists_of_nothing_at_nowhere_are_refused) {
  made_queue q;
  EXPECT_TRUE(q.queue.post(send_list{.data = {nullptr, 1}}).is(driver_error::bad_argument));
  EXPECT_TRUE(q.queue.post(send_inline{.data = {nullptr, 1}}).is(driver_error::bad_argument));
}

TEST(requests_test, many_fill_the_queue_and_no_more) {
  made_queue q;
  const std::uint32_t most = q.queue.most_outstanding();
  std::vector<send> requests(most + 1);
  for (std::uint32_t i = 0; i <= most; ++i) requests[i].wr_id = i;
  ASSERT_EQ(q.queue.post_many(requests.data(), most + 1), most);
  EXPECT_TRUE(q.queue.post(requests[most]).is(driver_error::queue_full));
  ASSERT_NE(q.queue.retire_oldest(), nullptr);
  EXPECT_EQ(q.queue.post_many(&requests[most], 1), 1u);
}

TEST(requests_test, a_run_of_nothing_leaves_a_fresh_queue_and_a_full_one_as_they_are) {
  made_queue q;
  const std::uint32_t most = q.queue.most_outstanding();
  std::vector<send> requests(most);
  for (const std::uint32_t outstanding : {0u, most}) {
    ASSERT_EQ(q.queue.post_many(requests.data(), outstanding), outstanding);
    const std::vector<std::byte> before = q.ring();
    const std::uint32_t posted = q.queue.posted();
    EXPECT_EQ(q.queue.post_many(requests.data(), 0), 0u);
    EXPECT_EQ(q.ring(), before) << outstanding;
    EXPECT_EQ(q.queue.posted(), posted);
    EXPECT_EQ(q.queue.outstanding(), outstanding);
    EXPECT_FALSE(q.rang());
  }
}

}  // namespace
}  // namespace freehca::queues
