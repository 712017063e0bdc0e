// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Posting to a send queue: the device finds each WQE whole, and what it reads ahead stamped.
#include <freehca/queues/blueflame.hpp>
#include <freehca/queues/frame_requests.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "observer.hpp"
#include "scenario.hpp"

namespace freehca::queues {
namespace {

using work_requests::send_opcode;
using work_requests::send_request;

using namespace layouts;
using namespace freehca::testing;

struct send_world {
  send_world(std::uint32_t most_posted, unsigned gather, std::uint32_t most_inline, bool datagrams,
             std::uint64_t further_opcodes = 0)
      : shape(sq_shape_for(most_posted, gather, most_inline,
                           datagrams ? datagram_header_bytes : rdma_header_bytes)
                  .value()),
        words(shape.bytes() / 8),
        slots(shape.entries()),
        list(gather, {0x1111'2222'3333'4444, 0x55, 0x66}),
        payload(most_inline, std::byte{0x77}) {
    EXPECT_TRUE(queue
                    .open({{ring(), 0x1000, shape.bytes()},
                           shape,
                           slots.data(),
                           {bytes_of(uar), 4096},
                           7,
                           gather,
                           most_inline,
                           1 << 30,
                           further_opcodes | (datagrams ? opcodes_of_datagrams()
                                                        : opcodes_of_a_connection(true) |
                                                              opcodes_of_memory_management())})
                    .ok());
    queue.accept(true);
    for (std::size_t i = 0; i < address_vector::bytes; ++i) peer.vector.data()[i] = std::byte{0x99};
    of_list = {.list = list.data(),
               .entries = gather,
               .opcode = datagrams ? send_opcode::send : send_opcode::rdma_write,
               .immediate = 0xaa,
               .rkey = 0xbb,
               .remote_address = 0xcccc,
               .to = datagrams ? &peer : nullptr,
               .remote_qpn = 0xdd,
               .qkey = 0x88};
    of_inline = of_list;
    of_inline.list = nullptr;
    of_inline.entries = 0;
    of_inline.inline_bytes = payload.data();
    of_inline.inline_length = most_inline;
    // Post one round first. After it no place is as reset() left it, and the next post prepares a
    // run of places.
    for (; queue.posted() < shape.entries();) {
      EXPECT_TRUE(work_requests::post(queue, of_list).ok());
      EXPECT_NE(queue.retire(static_cast<std::uint16_t>(queue.posted() - 1)), nullptr);
    }
    first = queue.posted();
    for (data_entry& e : list) e = {0x9999'aaaa'bbbb'cccc, 0x77, 0x88};
  }

  std::byte* ring() { return bytes_of(words); }
  std::byte* place(std::uint32_t n) {
    return ring() + ((std::size_t{n} & (shape.entries() - 1)) << shape.log_stride);
  }

  /// Plays a device that starts with the WQEs given to it and reads ahead. Returns the first thing
  /// that such a device must never find, or an empty string.
  std::string look(const store_buffer::view& seen, const store_buffer::view& last) {
    const std::size_t stride = std::size_t{1} << shape.log_stride;
    const std::uint32_t end = queue.posted();
    for (std::uint32_t n = first; n != end; ++n) {
      const bool given = image<wqe_ctrl>::from_bytes(seen.at(place(n))).get<&wqe_ctrl::owner>() ==
                         ((n & shape.entries()) != 0);
      for (std::size_t block = given ? 0 : wqe_basic_block; block < stride;
           block += wqe_basic_block) {
        if (!given && seen.word(place(n) + block) == wqe_stamp) continue;
        if (!same(seen, last, place(n) + block, wqe_basic_block))
          return at_wqe(n, given ? "given away, and a block is not there"
                                 : "a block has lost its stamp, and is not there");
      }
      if (!given && seen.word(bytes_of(uar) + uar::send_doorbell) != 0)
        return at_wqe(n, "the doorbell was rung, and it is not given away");
      if (given && !same(seen, last, bytes_of(data), 64))
        return at_wqe(n, "given away, and the data to send are not there");
      for (std::uint32_t ahead = n + 1; given && ahead != n + 1 + shape.spare(); ++ahead)
        for (std::size_t block = wqe_basic_block; block < stride && ahead - first >= end - first;
             block += wqe_basic_block)
          if (seen.word(place(ahead) + block) != wqe_stamp)
            return at_wqe(n, "given away, and what the device reads ahead is not stamped");
    }
    return {};
  }

  store_buffer buffer;
  sq_shape shape;
  std::vector<std::uint64_t> words, uar = std::vector<std::uint64_t>(512),
                                    data = std::vector<std::uint64_t>(8);
  std::vector<posted_request> slots;
  std::vector<data_entry> list;
  std::vector<std::byte> payload;
  address peer;
  send_request of_list, of_inline;
  sq queue;
  std::uint32_t first = 0;

  void watch_and_record() {
    buffer.watch(ring(), shape.bytes());
    buffer.watch(bytes_of(uar), 64);
    buffer.watch(bytes_of(data), 64);
    buffer.record();
  }
  std::string explore(const std::function<void()>& post, const trial& which, barrier_sites& sites) {
    watch_and_record();
    dma::store_be64(bytes_of(data) + 56, 0xdada);
    post();
    EXPECT_EQ(queue.posted(), first + 2);
    const store_buffer::view last = buffer.last();
    sites.merge(barrier_sites(buffer.sites()));
    return buffer.explore([&](const auto& seen) { return look(seen, last); }, which);
  }
};

std::string requests_of_one_block(const trial& which, barrier_sites& sites) {
  send_world w(4, 1, 12, false);
  EXPECT_EQ(w.shape.log_stride, 6);
  return w.explore(
      [&] {
        EXPECT_TRUE(work_requests::post(w.queue, w.of_list).ok());
        EXPECT_TRUE(
            w.queue
                .post(compare_and_swap{
                    .remote = {0x1234, 5}, .operand = 6, .compare = 7, .data = {0x5678, 8, 9}})
                .ok());
        w.queue.ring();
      },
      which, sites);
}
std::string registrations(const trial& which, barrier_sites& sites) {
  send_world w(4, 1, 12, false);
  const std::uint64_t pages[] = {0x3000, 0x9000, 0x5000};
  const dma_region list{bytes_of(w.data), 0x40, 64};
  return w.explore(
      [&] {
        EXPECT_TRUE(write_page_list(list, page_list(pages, 12, 0, 3 * 4096)).ok());
        EXPECT_TRUE(w.queue
                        .post(fast_register{.memory = {.key = 0x705,
                                                       .page_list = list.device_address,
                                                       .start = 0x1000,
                                                       .length = 3 * 4096}})
                        .ok());
        EXPECT_TRUE(w.queue.post_and_ring(local_invalidate{.memory = {0x704}}).ok());
      },
      which, sites);
}
/// Posts two requests by BlueFlame, and one by a doorbell.
std::string pushes(const trial& which, barrier_sites& sites) {
  send_world w(4, 1, 12, false);
  std::vector<std::uint64_t> page(16);  // a register of two halves, each of one block
  const std::byte* const half[] = {bytes_of(page), bytes_of(page) + wqe_basic_block};
  blueflame by;
  EXPECT_TRUE(by.open({bytes_of(page), 2 * wqe_basic_block}).ok());
  w.buffer.watch_combining(half[0], 2 * wqe_basic_block);
  w.watch_and_record();
  const queues::rdma_write r{.remote = {0x1234, 5}, .data = {1, 2, 3}};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(w.queue.post_and_push(by, r).ok());
  EXPECT_TRUE(w.queue.post_and_ring(nop{}).ok());
  EXPECT_EQ(w.queue.posted(), w.first + 3);
  const store_buffer::view last = w.buffer.last();
  sites.merge(barrier_sites(w.buffer.sites()));
  const std::vector<std::byte> nothing(wqe_basic_block);
  return w.buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        for (unsigned n = 0; n < 2; ++n) {
          if (std::memcmp(seen.at(half[n]), nothing.data(), nothing.size()) == 0) continue;
          if (!same(seen, last, w.place(w.first + n), wqe_basic_block))
            return at_wqe(w.first + n, "its copy has begun, and it does not stand in the ring");
          if (n == 1 && !same(seen, last, half[0], wqe_basic_block))
            return "the other half has been begun, and the copy before is not there";
        }
        if (seen.word(bytes_of(w.uar) + uar::send_doorbell) != 0 &&
            !same(seen, last, half[1], wqe_basic_block))
          return "a doorbell has passed a copy";
        return {};
      },
      which);
}
/// A doorbell after a BlueFlame copy needs no barrier of its own.
std::string a_copy_and_a_doorbell(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  std::vector<std::uint64_t> page(16), uar_page(8), wqe(8, 0x1234);
  blueflame by;
  EXPECT_TRUE(by.open({bytes_of(page), 2 * wqe_basic_block}).ok());
  buffer.watch_combining(bytes_of(page), 2 * wqe_basic_block);
  buffer.watch(bytes_of(uar_page), 64);
  buffer.record();
  by.copy(bytes_of(wqe), wqe_basic_block);
  mmio::write_32({bytes_of(uar_page), 64}, uar::send_doorbell, 1);
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        return seen.word(bytes_of(uar_page) + uar::send_doorbell) != 0 &&
                       !same(seen, last, bytes_of(page), wqe_basic_block)
                   ? "a doorbell has passed a copy"
                   : "";
      },
      which);
}
std::string two(send_world& w, const send_request& first, const send_request& second,
                const trial& which, barrier_sites& sites) {
  EXPECT_EQ(w.shape.log_stride, 8);
  return w.explore(
      [&] {
        EXPECT_TRUE(work_requests::post(w.queue, first).ok());
        EXPECT_TRUE(work_requests::post_and_ring(w.queue, second).ok());
      },
      which, sites);
}
std::string lists_of_several_blocks(const trial& which, barrier_sites& sites) {
  send_world w(4, 14, 200, false);
  return two(w, w.of_list, w.of_list, which, sites);
}
std::string inline_data_of_several_blocks(const trial& which, barrier_sites& sites) {
  send_world w(4, 14, 200, false);
  return two(w, w.of_inline, w.of_list, which, sites);
}
std::string datagrams_of_lists(const trial& which, barrier_sites& sites) {
  send_world w(4, 12, 172, true);
  return two(w, w.of_list, w.of_inline, which, sites);
}
std::string datagrams_inline(const trial& which, barrier_sites& sites) {
  send_world w(4, 12, 172, true);
  return two(w, w.of_inline, w.of_inline, which, sites);
}
std::string headers_of_several_blocks(const trial& which, barrier_sites& sites) {
  send_world w(4, 14, 200, false, opcodes_of_frames(true));
  EXPECT_EQ(w.shape.log_stride, 8);
  const send_large_frame_list r{.headers = {w.payload.data(), 150, 1000},
                                .data = {w.list.data(), 4}};
  return w.explore(
      [&] {
        EXPECT_TRUE(w.queue.post(r).ok());
        EXPECT_TRUE(w.queue.post_and_ring(r).ok());
      },
      which, sites);
}
std::string a_batch(const trial& which, barrier_sites& sites) {
  send_world w(4, 14, 200, false);
  return w.explore(
      [&] {
        const data_list all{w.list.data(), static_cast<std::uint32_t>(w.list.size())};
        const rdma_write_list two[] = {{.remote = {0x1234, 5}, .data = all},
                                       {.remote = {0x1234, 5}, .data = all}};
        EXPECT_EQ(w.queue.post_many(two, 2), 2u);
        w.queue.ring();
      },
      which, sites);
}

}  // namespace

scenario_list send_scenarios() {
  static constexpr scenario all[] = {
      {"requests of one block", requests_of_one_block},
      {"registrations", registrations},
      {"pushes by BlueFlame", pushes},
      {"a copy and a doorbell", a_copy_and_a_doorbell},
      {"lists of several blocks", lists_of_several_blocks},
      {"inline data of several blocks", inline_data_of_several_blocks},
      {"datagrams of lists", datagrams_of_lists},
      {"datagrams inline", datagrams_inline},
      {"headers of several blocks", headers_of_several_blocks},
      {"a batch", a_batch},
  };
  return all;
}

}  // namespace freehca::queues
