// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The store buffer itself: what it lets a device see, and a load find, and what it does not.
#include <gtest/gtest.h>

#include <set>

#include "support/store_buffer.hpp"

namespace freehca::testing {
namespace {

struct memory {
  alignas(8) std::byte at[64] = {};
};
using pair = std::pair<std::uint32_t, std::uint32_t>;

/// All pairs of words that a device may find, behind some stores.
template <class Stores>
std::set<pair> found(Stores stores, const trial& which = {}) {
  store_buffer buffer;
  memory m;
  buffer.watch(m.at, sizeof m.at);
  buffer.record();
  stores(m.at);
  std::set<pair> all;
  EXPECT_EQ(buffer.explore(
                [&](const store_buffer::view& seen) -> std::string {
                  all.insert({seen.word(m.at), seen.word(m.at + 8)});
                  return {};
                },
                which),
            "");
  EXPECT_TRUE(buffer.complete());
  return all;
}

TEST(store_buffer, stores_to_two_words_come_in_any_order) {
  EXPECT_EQ(found([](std::byte* at) {
              dma::store_be32(at, 1);
              dma::store_be32(at + 8, 1);
            }),
            (std::set<pair>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(store_buffer, stores_to_one_word_keep_their_order) {
  EXPECT_EQ(found([](std::byte* at) {
              dma::store_be32(at, 1);
              dma::store_be32(at, 2);
              dma::store_be32(at + 8, 1);
            }),
            (std::set<pair>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}));
}

TEST(store_buffer, a_word_is_seen_whole_and_a_string_is_not) {
  EXPECT_EQ(found([](std::byte* at) { dma::store_be64(at, 0x0102'0304'0506'0708); }),
            (std::set<pair>{{0, 0}, {0x01020304, 0}}));
  const std::byte three[3] = {std::byte{1}, std::byte{1}, std::byte{1}};
  EXPECT_EQ(found([&](std::byte* at) { dma::store_bytes(at, three, sizeof three); }).size(), 8u);
}

TEST(store_buffer, a_barrier_orders_what_its_name_says_and_no_more) {
  EXPECT_EQ(found([](std::byte* at) {
              dma::store_be32(at, 1);
              barrier::dma_store_to_dma_store();
              dma::store_be32(at + 8, 1);
            }),
            (std::set<pair>{{0, 0}, {1, 0}, {1, 1}}));
  const auto before_a_register = [](void (*barrier)(std::byte*)) {
    return [=](std::byte* at) {
      dma::store_be32(at, 1);
      barrier(at);
      mmio::write_32({at, 64}, 8, 1);
    };
  };
  const std::set<pair> any{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, ordered{{0, 0}, {1, 0}, {1, 1}};
  const auto with_wrong = before_a_register([](std::byte*) { barrier::dma_store_to_dma_store(); });
  EXPECT_EQ(found(with_wrong), any);
  EXPECT_EQ(found(with_wrong, {.target = machine::aarch64}), ordered) << "dmb oshst does more";
  EXPECT_EQ(found(before_a_register([](std::byte*) { barrier::dma_load_to_store(); }),
                  {.target = machine::aarch64}),
            any)
      << "dmb oshld holds no store back";
  EXPECT_EQ(found(before_a_register([](std::byte*) { barrier::dma_store_to_mmio_store(); })),
            ordered);
}

/// All pairs that two loads find while the device writes the first word and then the second.
template <class Loads>
std::set<pair> loaded(Loads loads) {
  std::set<pair> all;
  load_explorer explorer;
  EXPECT_EQ(explorer.explore(
                [&](load_run& run) -> std::string {
                  memory m;
                  const std::uint32_t one = layouts::swap_be(std::uint32_t{1});
                  run.device_writes(m.at, &one, 4);
                  run.device_writes(m.at + 8, &one, 4);
                  run.start();
                  all.insert(loads(m.at));
                  return {};
                },
                {}),
            "");
  return all;
}

TEST(store_buffer, loads_are_satisfied_in_any_order) {
  EXPECT_EQ(loaded([](const std::byte* at) {
              const std::uint32_t later = dma::load_be32(at + 8);
              return pair{dma::load_be32(at), later};
            }),
            (std::set<pair>{{0, 0}, {1, 0}, {1, 1}, {0, 1}}));
  EXPECT_EQ(loaded([](const std::byte* at) {
              const std::uint32_t later = dma::load_be32(at + 8);
              barrier::dma_load_to_dma_load();
              return pair{dma::load_be32(at), later};
            }),
            (std::set<pair>{{0, 0}, {1, 0}, {1, 1}}));
}

TEST(store_buffer, loads_of_one_word_do_not_go_back) {
  EXPECT_EQ(loaded([](const std::byte* at) {
              const std::uint32_t first = dma::load_be32(at);
              return pair{first, dma::load_be32(at)};
            }),
            (std::set<pair>{{0, 0}, {0, 1}, {1, 1}}));
}

TEST(store_buffer, a_load_may_be_late_for_a_store_behind_it) {
  for (const bool held : {false, true}) {
    load_explorer explorer;
    const std::string wrong = explorer.explore(
        [&](load_run& run) -> std::string {
          memory m;
          const std::uint32_t one = 1;
          run.device_waits_for(m.at + 8);
          run.device_writes(m.at, &one, 4);
          run.start();
          const std::uint32_t seen = dma::load_be32(m.at);
          if (held) barrier::dma_load_to_store();
          dma::store_be32(m.at + 8, 1);
          return seen == 0 ? "" : "late";
        },
        {});
    EXPECT_EQ(wrong, held ? "" : "late");
  }
}

}  // namespace
}  // namespace freehca::testing
