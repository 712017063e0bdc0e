// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every barrier of the rings and of the command channel counts. Each scenario runs the driver as it
// ships against an observer that knows what the device, or the driver, may never find. With all
// barriers no permitted order shows that; of each barrier there is a scenario that shows it as soon
// as this one is taken for nothing. Which barriers there are, the source says: nothing is listed
// here.
#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/queues/cq.hpp>
#include <freehca/queues/eq.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/rq.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/srq.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "support/store_buffer.hpp"

namespace freehca::queues {
namespace {

using work_requests::send_opcode;
using work_requests::send_request;

using namespace layouts;
using namespace freehca::testing;

std::string at_wqe(std::uint32_t n, const char* what) {
  return "WQE " + std::to_string(n) + ": " + what;
}
bool same(const store_buffer::view& a, const store_buffer::view& b, const std::byte* host,
          std::size_t bytes) {
  return std::memcmp(a.at(host), b.at(host), bytes) == 0;
}
std::byte* bytes_of(std::vector<std::uint64_t>& words) {
  return reinterpret_cast<std::byte*>(words.data());
}

// --- posting to a send queue -------------------------------------------------------------------

struct send_world {
  send_world(std::uint32_t most_posted, unsigned gather, std::uint32_t most_inline, bool datagrams)
      : shape(sq_shape_for(most_posted, gather, most_inline,
                           datagrams ? datagram_header_bytes : rdma_header_bytes)
                  .value()),
        words(shape.bytes() / 8),
        slots(shape.entries()),
        list(gather, {0x1111'2222'3333'4444, 0x55, 0x66}),
        payload(most_inline, std::byte{0x77}) {
    EXPECT_TRUE(
        queue
            .open({{ring(), 0x1000, shape.bytes()},
                   shape,
                   slots.data(),
                   {bytes_of(uar), 4096},
                   7,
                   gather,
                   most_inline,
                   1 << 30,
                   datagrams ? opcodes_of_datagrams()
                             : opcodes_of_a_connection(true) | opcodes_of_memory_management()})
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
    // Once round, so that no place is as reset() left it, and the next post prepares a run.
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

  /// What a device that reads ahead, and begins with what is given to it, may never find.
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
/// Two posts by BlueFlame, and one by a doorbell.
std::string pushes(const trial& which, barrier_sites& sites) {
  send_world w(4, 1, 12, false);
  std::vector<std::uint64_t> page(16);  // a register of two halves of a block each
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
/// Whatever doorbell comes next need not have a barrier of its own.
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

// --- posting receives ----------------------------------------------------------------------------

std::string receives(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  const rq_shape shape = rq_shape_for(4, 4).value();
  std::vector<std::uint64_t> words(shape.bytes() / 8), record(1);
  std::vector<posted_request> slots(shape.entries());
  rq queue;
  EXPECT_TRUE(queue
                  .open({{bytes_of(words), 0x1000, shape.bytes()},
                         shape,
                         slots.data(),
                         {bytes_of(record), 0x2000, 8},
                         4})
                  .ok());
  queue.accept(true);
  const data_entry entries[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  buffer.watch(bytes_of(words), shape.bytes());
  buffer.watch(bytes_of(record), 8);
  buffer.record();
  for (unsigned n = 1; n <= 3; ++n)
    EXPECT_TRUE(queue.post_and_ring({.list = entries, .entries = n}).ok());
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        for (std::uint32_t n = 0; n < seen.word(bytes_of(record)); ++n)
          if (!same(seen, last, bytes_of(words) + (std::size_t{n} << shape.log_stride),
                    std::size_t{1} << shape.log_stride))
            return at_wqe(n, "counted, and not there");
        return {};
      },
      which);
}

std::string shared_receives(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  const srq_shape shape = srq_shape_for(1, 2).value();
  std::vector<std::uint64_t> words(shape.bytes() / 8), record(1);
  std::vector<posted_request> slots(shape.entries());
  srq queue;
  EXPECT_TRUE(queue
                  .open({{bytes_of(words), 0x1000, shape.bytes()},
                         shape,
                         slots.data(),
                         {bytes_of(record), 0x2000, 8},
                         2})
                  .ok());
  queue.accept(true);
  const data_entry entry{1, 2, 3};
  EXPECT_TRUE(queue.post_and_ring({.list = &entry, .entries = 1}).ok());
  buffer.watch(bytes_of(words), shape.bytes());
  buffer.watch(bytes_of(record), 8);
  buffer.record();
  // Entry 0 is free again, so that entry 1 leads to it.
  EXPECT_NE(queue.retire(0), nullptr);
  EXPECT_TRUE(queue.post_and_ring({.list = &entry, .entries = 1}).ok());
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  const std::byte* const second = bytes_of(words) + (std::size_t{1} << shape.log_stride);
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        if (seen.word(bytes_of(record)) < 2) return {};
        if (!same(seen, last, second, wqe_srq_next::bytes)) return "counted, and not linked";
        if (!same(seen, last, second, std::size_t{1} << shape.log_stride))
          return "counted, and not there";
        return {};
      },
      which);
}

// --- completion queues ---------------------------------------------------------------------------

enum class completes { sends, receives, shared, errors };

/// A completion queue, and two queue pairs with one request of each kind outstanding.
struct completion_world {
  completion_world(unsigned log_entries, completes what)
      : ring(std::size_t{4} << log_entries), kind(what) {
    directory.open(rows, 2);
    const srq_shape shared_shape = srq_shape_for(3, 2).value();
    shared_words.resize(shared_shape.bytes() / 8);
    shared_slots.resize(shared_shape.entries());
    EXPECT_TRUE(shared
                    .open({{bytes_of(shared_words), 0x1000, shared_shape.bytes()},
                           shared_shape,
                           shared_slots.data(),
                           {bytes_of(records), 0x2000, 8},
                           2})
                    .ok());
    shared.accept(true);
    const data_entry room{0x1000, 0x100, 3};
    for (unsigned i = 0; i < 2; ++i) {
      pair& p = pairs[i];
      p.rings.qpn = 0x40 + i;
      EXPECT_TRUE(p.rings.send
                      .open({{bytes_of(p.send_words), 0x1000, 64 * 64},
                             sq_shape{6, 6},
                             p.send_slots,
                             {bytes_of(uar), 4096},
                             7,
                             1,
                             0,
                             1 << 30,
                             opcodes_of_a_connection(true)})
                      .ok());
      p.rings.send.accept(true);
      EXPECT_TRUE(p.rings.receive
                      .open({{bytes_of(p.receive_words), 0x1000, 64},
                             rq_shape{2, 4},
                             p.receive_slots,
                             {bytes_of(records) + 8, 0x2000, 8},
                             1})
                      .ok());
      p.rings.receive.accept(true);
      EXPECT_TRUE(p.rings.send.post(rdma_write{.wr_id = 0x10 + i, .data = room}).ok());
      EXPECT_TRUE(p.rings.receive.post({.wr_id = 0x10 + i, .list = &room, .entries = 1}).ok());
      EXPECT_TRUE(shared.post({.wr_id = 0x10 + i, .list = &room, .entries = 1}).ok());
      if (kind == completes::shared) p.rings.shared = &shared;
      EXPECT_TRUE(directory.add(p.rings).ok());
    }
    EXPECT_TRUE(queue
                    .open({{bytes_of(ring), 0x1000, cq::ring_bytes(log_entries, 32)},
                           log_entries,
                           32,
                           {bytes_of(record), 0x2000, 8},
                           {bytes_of(uar), 4096},
                           1,
                           &directory})
                    .ok());
  }

  /// What the device writes when the request of pair `i` ended. Each word of it tells whose it is.
  image<cqe> entry(unsigned i, bool owner) const {
    const bool receive = kind == completes::receives || kind == completes::shared;
    image<cqe> e;
    std::memset(e.data(), 0x21 + static_cast<int>(i), cqe::bytes);
    e.set<&cqe::qpn>(0x40 + i)
        .set<&cqe::byte_count>(0x20 + i)
        .set<&cqe::wqe_index>(kind == completes::shared ? i : 0)
        .set<&cqe::is_send>(!receive)
        .set<&cqe::inline_scatter>(false)
        .set<&cqe::owner>(owner);
    e.set<&cqe::opcode>(kind == completes::errors ? static_cast<unsigned>(cqe_opcode::error)
                        : receive                 ? static_cast<unsigned>(cqe_opcode::recv_send)
                                                  : static_cast<unsigned>(wqe_opcode::rdma_write));
    return e;
  }
  std::byte* place(std::size_t i) { return bytes_of(ring) + i * 32; }

  /// What a completion that is not pair `i`'s, whole, is told to be.
  std::string judge(const work_completion& c, unsigned i, bool owner) const {
    const image<cqe> e = entry(i, owner);
    if (c.queue != &pairs[i].rings) return "a completion of another queue pair";
    if (c.wr_id != 0x10 + i) return "a completion of another request";
    if (std::memcmp(c.entry, e.data(), sizeof c.entry) != 0) return "a completion of two entries";
    return {};
  }

  struct pair {
    std::vector<std::uint64_t> send_words = std::vector<std::uint64_t>(64 * 8),
                               receive_words = std::vector<std::uint64_t>(8);
    posted_request send_slots[64], receive_slots[4];
    qp_rings rings;
  };
  std::vector<std::uint64_t> ring, uar = std::vector<std::uint64_t>(512),
                                   record = std::vector<std::uint64_t>(1),
                                   records = std::vector<std::uint64_t>(2), shared_words;
  std::vector<posted_request> shared_slots;
  completes kind;
  qp_rings* rows[2];
  qp_directory directory;
  srq shared;
  pair pairs[2];
  cq queue;
};

using load_scenario = load_explorer::scenario;
std::string explore(const load_scenario& one, const trial& which, barrier_sites& sites) {
  load_explorer explorer;
  std::string wrong = explorer.explore(one, which);
  sites.merge(barrier_sites(explorer.sites()));
  return wrong;
}

/// Two completions through a ring of one place: the device writes the second over the first as soon
/// as the record tells it that the first was read.
template <class Take>
std::string one_place(load_run& run, completes kind, Take take) {
  completion_world w(0, kind);
  run.device_writes(w.place(0), w.entry(0, false).data(), cqe::bytes);
  run.device_waits_for(bytes_of(w.record));
  run.device_writes(w.place(0), w.entry(1, true).data(), cqe::bytes);
  run.start();
  std::vector<work_completion> got;
  take(w.queue, got);
  run.settle();
  while (take(w.queue, got) != 0) {
  }
  if (w.queue.dropped() != 0) return "a completion was dropped";
  for (unsigned i = 0; i < got.size() && i < 2; ++i)
    if (std::string wrong = w.judge(got[i], i, i == 1); !wrong.empty()) return wrong;
  return got.size() == 2 ? "" : "a completion too many or too few";
}
std::string polled(const trial& which, barrier_sites& sites, completes kind) {
  return explore(
      [&](load_run& run) {
        return one_place(run, kind, [](cq& queue, std::vector<work_completion>& to) {
          work_completion each;
          const unsigned n = queue.poll(&each, 1);
          if (n != 0) to.push_back(each);
          return n;
        });
      },
      which, sites);
}
std::string polled_sends(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completes::sends);
}
std::string polled_receives(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completes::receives);
}
std::string polled_shared_receives(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completes::shared);
}
std::string polled_errors(const trial& which, barrier_sites& sites) {
  return polled(which, sites, completes::errors);
}
/// The view is read just before its place is given back.
std::string looked_at_sends(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) {
        return one_place(run, completes::sends, [](cq& queue, std::vector<work_completion>& to) {
          std::vector<completion_view> views;
          const unsigned given =
              queue.look(1, [&](const completion_view& each) { views.push_back(each); });
          for (const completion_view& each : views) to.push_back(copy_of(each));
          if (given != 0) queue.release();
          return given;
        });
      },
      which, sites);
}

/// What was received is there when the completion says so.
std::string received_data(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        completion_world w(0, completes::receives);
        std::vector<std::uint64_t> data(1);
        const std::uint64_t written = 0xdada;
        run.device_writes(bytes_of(data), &written, 8);
        run.device_writes(w.place(0), w.entry(0, false).data(), cqe::bytes);
        run.start();
        work_completion each;
        if (w.queue.poll(&each, 1) == 0) return {};
        std::uint64_t seen = 0;
        dma::load_bytes(reinterpret_cast<std::byte*>(&seen), bytes_of(data), 8);
        return seen == written ? "" : "a completion, and the data are not there";
      },
      which, sites);
}

/// The second time round, while pair 0 is forgotten, a completion of pair 1 comes into a place that
/// had one of pair 0.
std::string forgotten_beside_an_arrival(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        completion_world w(0, completes::sends);
        work_completion each;
        std::memcpy(w.place(0), w.entry(0, false).data(), cqe::bytes);
        EXPECT_EQ(w.queue.poll(&each, 1), 1u);
        run.device_writes(w.place(0), w.entry(1, true).data(), cqe::bytes);
        run.start();
        w.queue.forget(w.pairs[0].rings);
        run.settle();
        if (w.queue.poll(&each, 1) != 1) return "a completion of a living queue pair is lost";
        return w.judge(each, 1, true);
      },
      which, sites);
}

/// A completion that stays moves over one that goes; when it was read too, its place is the
/// device's: nothing of the driver's may arrive there any more.
std::string moved_and_given_back(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  completion_world w(1, completes::sends);
  std::memcpy(w.place(0), w.entry(1, false).data(), cqe::bytes);
  std::memcpy(w.place(1), w.entry(0, false).data(), cqe::bytes);
  buffer.watch(w.place(0), 64);
  buffer.watch(bytes_of(w.record), 8);
  buffer.record();
  w.queue.forget(w.pairs[0].rings);
  work_completion each;
  EXPECT_EQ(w.queue.poll(&each, 1), 1u);
  EXPECT_EQ(w.judge(each, 1, false), "");
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        if (seen.word(bytes_of(w.record)) == 2 && !same(seen, last, w.place(1), 32))
          return "a place is given back, and the driver's store to it is yet to come";
        return {};
      },
      which);
}

std::string arming(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  completion_world w(1, completes::sends);
  std::memcpy(w.place(0), w.entry(0, false).data(), cqe::bytes);
  buffer.watch(bytes_of(w.record), 8);
  buffer.watch(bytes_of(w.uar), 64);
  buffer.record();
  work_completion each;
  EXPECT_EQ(w.queue.poll(&each, 1), 1u);
  w.queue.arm();
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  return buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        if (seen.word(bytes_of(w.uar) + uar::cq_doorbell) == 0) return {};
        if (!same(seen, last, bytes_of(w.record) + 4, 4)) return "armed by an old record";
        if (!same(seen, last, bytes_of(w.record), 4)) return "armed with an old consumer counter";
        return {};
      },
      which);
}

// --- event queues --------------------------------------------------------------------------------

struct event_world {
  event_world() {
    EXPECT_TRUE(queue.open({{bytes_of(ring), 0x1000, 32}, 0, 32, {bytes_of(doorbell), 8}}).ok());
  }
  static image<eqe_command> entry(unsigned i, bool owner) {
    image<eqe_command> e;
    std::memset(e.data(), 0x21 + static_cast<int>(i), eqe::bytes);
    e.set<&eqe::owner>(owner);
    return e;
  }
  std::vector<std::uint64_t> ring = std::vector<std::uint64_t>(4),
                             doorbell = std::vector<std::uint64_t>(1);
  eq queue;
};

/// Two events through a ring of one place, which the driver tells of each.
std::string events(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        event_world w;
        run.device_writes(bytes_of(w.ring), w.entry(0, false).data(), eqe::bytes);
        run.device_waits_for(bytes_of(w.doorbell));
        run.device_writes(bytes_of(w.ring), w.entry(1, true).data(), eqe::bytes);
        run.start();
        image<eqe> e;
        unsigned count = 0;
        for (int look = 0; look < 3; ++look) {
          if (look == 1) run.settle();
          if (!w.queue.next(e)) continue;
          if (std::memcmp(e.data(), w.entry(count, count == 1).data(), eqe::bytes) != 0)
            return "an event of two entries";
          ++count;
        }
        return count == 2 ? "" : "an event is lost";
      },
      which, sites);
}

/// An event tells of a completion, which the device wrote ahead of it.
std::string events_of_completions(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        event_world w;
        completion_world c(0, completes::receives);
        run.device_writes(c.place(0), c.entry(0, false).data(), cqe::bytes);
        run.device_writes(bytes_of(w.ring), w.entry(0, false).data(), eqe::bytes);
        run.start();
        image<eqe> e;
        if (!w.queue.next(e)) return {};
        work_completion each;
        if (c.queue.poll(&each, 1) != 1) return "an event, and nothing in the completion queue";
        return c.judge(each, 0, false);
      },
      which, sites);
}

// --- the command channel -------------------------------------------------------------------------

struct command_world {
  command_world()
      : boxes((channel::mailbox_bytes_for(1) + 4096) / 8),
        storage(channel::storage_bytes_for(1) / sizeof(std::max_align_t) + 1) {
    operations.now = [](void*) { return std::uint64_t{1'000'000}; };
    EXPECT_TRUE(commands
                    .open({.hcr = {bytes_of(words), hcr::bytes},
                           .mailboxes = {mailboxes(), 0x10000, channel::mailbox_bytes_for(1)},
                           .storage = reinterpret_cast<std::byte*>(storage.data()),
                           .storage_bytes = storage.size() * sizeof(std::max_align_t),
                           .slots = 1,
                           .platform = {&operations, nullptr}})
                    .ok());
    for (std::size_t i = 0; i < cqc::bytes; ++i)
      context.data()[i] = static_cast<std::byte>(0x30 + i % 64);
  }
  std::byte* mailboxes() { return bytes_of(boxes); }
  std::byte* output() { return mailboxes() + mailbox::bytes; }
  std::uint32_t last_word() {
    return layouts::load_be<std::uint32_t>(bytes_of(words) + hcr{}.go.offset);
  }
  void device_clears_go(load_run& run) {
    std::byte word[4];
    layouts::store_be(word, last_word() & ~(std::uint32_t{1} << hcr{}.go.lo));
    run.device_writes(bytes_of(words) + hcr{}.go.offset, word, sizeof word);
  }

  platform_operations operations;
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(4), boxes;
  std::vector<std::max_align_t> storage;
  image<cqc> context;
  reactor loop;
  channel commands{loop};
};

template <class Command>
std::string posted(Command& command, command_world& w, store_buffer& buffer, const trial& which,
                   barrier_sites& sites) {
  // What an earlier command left in the mailboxes.
  std::memset(w.mailboxes(), 0xa5, channel::mailbox_bytes_for(1));
  buffer.watch(bytes_of(w.words), 32);
  buffer.watch(w.mailboxes(), channel::mailbox_bytes_for(1));
  w.commands.submit(command);
  buffer.record();
  w.commands.poll();
  EXPECT_EQ(w.commands.in_flight(), 1u);
  const store_buffer::view last = buffer.last();
  sites.merge(barrier_sites(buffer.sites()));
  std::string wrong = buffer.explore(
      [&](const store_buffer::view& seen) -> std::string {
        const std::byte* const go = bytes_of(w.words) + hcr{}.go.offset;
        if ((seen.word(go) >> hcr{}.go.lo & 1) == 0) return {};
        if (!same(seen, last, bytes_of(w.words), hcr::bytes)) return "GO, and a word is old";
        if (!same(seen, last, w.mailboxes(), channel::mailbox_bytes_for(1)))
          return "GO, and a mailbox is old, or is yet to be cleared";
        return {};
      },
      which);
  w.commands.device_was_reset();
  return wrong;
}
std::string commands_with_input(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  command_world w;
  firmware_command<commands::sw2hw_cq> command{5u};
  command.input = w.context;
  return posted(command, w, buffer, which, sites);
}
std::string commands_with_output(const trial& which, barrier_sites& sites) {
  store_buffer buffer;
  command_world w;
  firmware_command<commands::query_cq> command{5u};
  return posted(command, w, buffer, which, sites);
}

std::string answers_polled_for(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        command_world w;
        firmware_command<commands::query_cq> command{5u};
        w.commands.submit(command);
        w.commands.poll();
        run.device_writes(w.output(), w.context.data(), cqc::bytes);
        w.device_clears_go(run);
        run.start();
        w.commands.poll();
        const bool done = command.done();
        w.commands.device_was_reset();
        if (!done) return {};
        if (!command.outcome().ok()) return "a command failed";
        return std::memcmp(command.output.data(), w.context.data(), cqc::bytes) == 0
                   ? ""
                   : "an answer that the device had not finished";
      },
      which, sites);
}

std::string answers_by_event(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        command_world w;
        event_world events;
        firmware_command<commands::query_cq> command{5u};
        w.commands.use_events(1);
        w.commands.submit(command);
        w.commands.poll();
        image<eqe_command> told;
        told.set<&eqe_command::event_type>(event_type::command_completion)
            .set<&eqe_command::token>(image<hcr>::from_bytes(bytes_of(w.words)).get<&hcr::token>());
        w.device_clears_go(run);
        run.device_writes(w.output(), w.context.data(), cqc::bytes);
        run.device_writes(bytes_of(events.ring), told.data(), eqe::bytes);
        run.start();
        image<eqe> seen;
        const bool event = events.queue.next(seen);
        if (event) {
          const auto c = image<eqe_command>::from_bytes(seen.data());
          w.commands.on_completion(static_cast<std::uint16_t>(c.get<&eqe_command::token>()),
                                   static_cast<std::uint8_t>(c.get<&eqe_command::status>()),
                                   c.get<&eqe_command::out_param>());
          w.commands.poll();
        }
        const bool done = command.done();
        w.commands.device_was_reset();
        if (!event) return {};
        if (!done) return "an event that names no command";
        if (!command.outcome().ok()) return "a command failed";
        return std::memcmp(command.output.data(), w.context.data(), cqc::bytes) == 0
                   ? ""
                   : "an answer that the device had not finished";
      },
      which, sites);
}

/// The device writes the next answer into the same mailbox as soon as it has the next command.
std::string answers_in_one_mailbox(const trial& which, barrier_sites& sites) {
  return explore(
      [&](load_run& run) -> std::string {
        command_world w;
        firmware_command<commands::query_cq> first{5u}, second{6u};
        w.commands.submit(first);
        w.commands.poll();
        run.device_writes(w.output(), w.context.data(), cqc::bytes);
        w.device_clears_go(run);
        run.device_waits_for(bytes_of(w.words) + hcr{}.go.offset);
        std::byte other[16] = {};
        run.device_writes(w.output(), other, sizeof other);
        run.start();
        w.commands.submit(second);
        w.commands.poll();
        const bool done = first.done();
        w.commands.device_was_reset();
        if (!done || !first.outcome().ok()) return {};
        return std::memcmp(first.output.data(), w.context.data(), cqc::bytes) == 0
                   ? ""
                   : "the answer to the next command";
      },
      which, sites);
}

// --- all of them ---------------------------------------------------------------------------------

struct scenario {
  const char* name;
  std::string (*run)(const trial& which, barrier_sites& sites);
};
constexpr scenario scenarios[] = {
    {"requests of one block", requests_of_one_block},
    {"registrations", registrations},
    {"pushes by BlueFlame", pushes},
    {"a copy and a doorbell", a_copy_and_a_doorbell},
    {"lists of several blocks", lists_of_several_blocks},
    {"inline data of several blocks", inline_data_of_several_blocks},
    {"datagrams of lists", datagrams_of_lists},
    {"datagrams inline", datagrams_inline},
    {"a batch", a_batch},
    {"receives", receives},
    {"shared receives", shared_receives},
    {"polled sends", polled_sends},
    {"polled receives", polled_receives},
    {"polled shared receives", polled_shared_receives},
    {"polled errors", polled_errors},
    {"looked at sends", looked_at_sends},
    {"received data", received_data},
    {"forgotten beside an arrival", forgotten_beside_an_arrival},
    {"moved and given back", moved_and_given_back},
    {"arming", arming},
    {"events", events},
    {"events of completions", events_of_completions},
    {"commands with input", commands_with_input},
    {"commands with output", commands_with_output},
    {"answers polled for", answers_polled_for},
    {"answers by event", answers_by_event},
    {"answers in one mailbox", answers_in_one_mailbox},
};

/// What the scenarios complain of without these barriers.
std::string who_misses(machine target, const barrier_sites& without) {
  std::string who;
  for (const scenario& s : scenarios) {
    barrier_sites passed;
    const std::string wrong = s.run({target, without}, passed);
    if (!wrong.empty()) who += std::string("\n    ") + s.name + ": " + wrong;
  }
  return who;
}
barrier_sites all_passed(machine target) {
  barrier_sites passed;
  for (const scenario& s : scenarios) EXPECT_EQ(s.run({target, {}}, passed), "") << s.name;
  return passed;
}

TEST(barriers, the_scenarios_pass_every_one_in_the_source) {
  barrier_sites written;
  for (const char* library : {"queues", "firmware_cmds"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(FREEHCA_SOURCE_DIR) / library)) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path());
      std::string text;
      for (unsigned line = 1; std::getline(in, text); ++line) {
        const std::size_t call = text.find("barrier::"), comment = text.find("//");
        if (call == std::string::npos || comment < call) continue;
        const std::string path =
            std::filesystem::relative(file.path(), FREEHCA_SOURCE_DIR).generic_string();
        written.insert({path, line});
      }
    }
  const barrier_sites passed = all_passed(machine::as_promised);
  EXPECT_FALSE(written.empty());
  for (const barrier_site& site : written)
    EXPECT_TRUE(passed.contains(site)) << site.text() << ": no scenario comes by";
  for (const barrier_site& site : passed) EXPECT_TRUE(written.contains(site)) << site.text();
}

TEST(barriers, none_can_be_missed) {
  for (const barrier_site& site : all_passed(machine::as_promised)) {
    const std::string who = who_misses(machine::as_promised, {site});
    std::cout << site.text() << (who.empty() ? ": nobody misses it" : who) << "\n";
    EXPECT_FALSE(who.empty()) << site.text();
  }
}

// Instructions do more than what their barriers are there for, so that one may stand in for its
// neighbour: but then that one is missed as soon as the neighbour is gone too.
TEST(barriers, on_aarch64_none_can_be_missed_but_for_a_neighbour) {
  barrier_sites spared;
  for (const barrier_site& site : all_passed(machine::aarch64))
    if (who_misses(machine::aarch64, {site}).empty()) spared.insert(site);
  for (const barrier_site& site : spared) {
    const bool stood_in_for =
        std::any_of(spared.begin(), spared.end(), [&](const barrier_site& other) {
          return other.file == site.file && !who_misses(machine::aarch64, {site, other}).empty();
        });
    std::cout << site.text() << ": a neighbour does its work on aarch64\n";
    EXPECT_TRUE(stood_in_for) << site.text();
  }
}

}  // namespace
}  // namespace freehca::queues
