// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Posting receives: the device finds each receive that the doorbell record counts.
#include <freehca/queues/rq.hpp>
#include <freehca/queues/srq.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "observer.hpp"
#include "scenario.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using namespace freehca::testing;

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
  // Entry 0 is free again, so entry 1 links to it.
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

}  // namespace

scenario_list receive_scenarios() {
  static constexpr scenario all[] = {
      {"receives", receives},
      {"shared receives", shared_receives},
  };
  return all;
}

}  // namespace freehca::queues
