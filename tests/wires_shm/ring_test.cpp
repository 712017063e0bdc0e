// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ring.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <memory>

#include "packets.hpp"

namespace freehca::wires::shm {
namespace {

/// A ring between two pages that nobody may touch.
class ring : public ::testing::Test {
 protected:
  ring() {
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, ring_bytes + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    data = pages_ + page_bytes;
    mprotect(data, ring_bytes, PROT_READ | PROT_WRITE);
    producer->follow(*control, lives());
  }
  ~ring() override { munmap(pages_, ring_bytes + 2 * page_bytes); }

  ring_word lives() const { return ring_word::of(producer_life, consumer_life); }
  bool put(const std::vector<std::byte>& bytes) {
    if (!producer->fits(*control, bytes.size(), resets)) return false;
    EXPECT_LE(producer->reach(bytes.size()), ring_bytes);
    producer->put(*control, data, bytes.data(), bytes.size());
    return true;
  }
  ring_consumer::result take() {
    got.resize(fabric_port::longest_packet);
    std::size_t bytes = 0;
    const auto result =
        consumer->take(*control, data, consumer_life, producer_life, got.data(), bytes);
    got.resize(bytes);
    if (result != ring_consumer::result::nothing) consumer->give_room(*control);
    return result;
  }
  bool has_bytes() const { return consumer->has_bytes(*control, consumer_life, producer_life); }

  std::byte* data;
  std::unique_ptr<ring_control> control = std::make_unique<ring_control>();
  std::unique_ptr<ring_producer> producer = std::make_unique<ring_producer>();
  std::unique_ptr<ring_consumer> consumer = std::make_unique<ring_consumer>();
  std::atomic<std::uint32_t> producer_life{7};
  std::uint32_t consumer_life = 3;
  std::uint64_t resets = 0;
  std::vector<std::byte> got;

 private:
  std::byte* pages_;
};

constexpr auto a_packet = ring_consumer::result::packet;
constexpr auto nothing = ring_consumer::result::nothing;
constexpr auto reset = ring_consumer::result::reset;

TEST_F(ring, packets_come_in_order_over_many_laps) {
  std::mt19937 random(seed());
  std::deque<std::vector<std::byte>> sent;
  std::uint32_t number = 0;
  unsigned full = 0;
  for (unsigned i = 0; i < 60'000; ++i) {
    if (random() % 16 < (i / 4000 % 2 == 0 ? 10u : 6u)) {
      auto made = packet(1, 2, ++number, 8 + random() % (fabric_port::longest_packet - 7));
      if (put(made)) sent.push_back(std::move(made));
      else ++full;
    } else {
      ASSERT_EQ(!sent.empty(), has_bytes());
      ASSERT_EQ(sent.empty() ? nothing : a_packet, take());
      if (sent.empty()) continue;
      ASSERT_EQ(sent.front(), got);
      sent.pop_front();
    }
  }
  EXPECT_GT(full, 0u);
  EXPECT_EQ(0u, resets);
}

TEST_F(ring, is_empty_for_another_life_of_either_side) {
  ASSERT_TRUE(put(packet(1, 2, 3, 100)));
  ++producer_life;  // it has left; its packets still count
  EXPECT_TRUE(has_bytes());
  ++producer_life;
  EXPECT_FALSE(has_bytes());
  EXPECT_EQ(nothing, take());
  ring_producer next;
  next.follow(*control, lives());
  EXPECT_EQ(nothing, take());
  const auto made = packet(1, 2, 4, 200);
  next.put(*control, data, made.data(), made.size());
  ASSERT_TRUE(has_bytes());
  ASSERT_EQ(a_packet, take());
  EXPECT_EQ(made, got);

  next.put(*control, data, made.data(), made.size());
  consumer_life += 2;
  consumer = std::make_unique<ring_consumer>();
  EXPECT_FALSE(has_bytes());
  EXPECT_EQ(nothing, take());
  EXPECT_FALSE(next.is_of(lives()));
  next.follow(*control, lives());
  EXPECT_EQ(nothing, take());
}

TEST_F(ring, a_consumer_that_gives_room_wakes_the_producer_once) {
  while (put(packet(1, 2, 1, 4096))) {
  }
  EXPECT_FALSE(producer->has_room(*control));
  control->wants_room = 1;
  unsigned woken = 0;
  for (unsigned i = 0; take() == a_packet; ++i)
    if (control->wants_room == 0) {
      EXPECT_TRUE(producer->has_room(*control));
      ++woken;
      break;
    }
  EXPECT_EQ(1u, woken);
}

TEST_F(ring, a_length_that_cannot_be_empties_it) {
  for (const std::uint32_t length :
       {0u, 7u, 4000u, 4353u, 0x7fff'ffffu, 0xffff'fffeu, std::uint32_t{wrap_mark}}) {
    const std::uint32_t unit = ring_word{control->tail}.position() % ring_units;
    ASSERT_TRUE(put(packet(1, 2, 3, 100)));
    std::memcpy(data + unit * unit_bytes, &length, sizeof length);
    EXPECT_EQ(reset, take()) << length;
    EXPECT_FALSE(has_bytes());
    ASSERT_TRUE(put(packet(1, 2, 4, 100)));
    EXPECT_EQ(a_packet, take()) << length;
  }
}

TEST_F(ring, a_head_too_far_empties_it) {
  control->head = lives().at(ring_units + 1).value;
  EXPECT_EQ(reset, take());
  ASSERT_TRUE(put(packet(1, 2, 4, 100)));
  while (has_bytes()) take();  // what follows the wrong position is senseless once more
  ASSERT_TRUE(put(packet(1, 2, 5, 100)));
  ASSERT_EQ(a_packet, take());
  EXPECT_EQ(5u, number_of(got));
}

TEST_F(ring, a_tail_in_front_of_the_head_begins_it_again_when_room_is_needed) {
  ASSERT_TRUE(put(packet(1, 2, 3, 100)));
  control->tail = lives().at(ring_units + 1000).value;
  ASSERT_TRUE(put(packet(1, 2, 4, 100)));
  EXPECT_EQ(0u, resets) << "the word was read although room was known";
  std::uint32_t number = 4;
  while (resets == 0) {
    ASSERT_LT(number, 4 + ring_units);
    ASSERT_TRUE(put(packet(1, 2, ++number, 4096)));
  }
  EXPECT_EQ(1u, resets);
  ASSERT_EQ(a_packet, take());
  EXPECT_EQ(number, number_of(got));
  EXPECT_EQ(nothing, take());
}

TEST_F(ring, any_bytes_at_any_time_leave_it_usable) {
  std::mt19937_64 random(seed());
  for (unsigned i = 0; i < 200'000; ++i) {
    switch (random() % 8) {
      case 0:
        control->head = control->head + random() % 2048 - 1024;
        break;
      case 1:
        control->tail = control->tail + random() % 2048 - 1024;
        break;
      case 2:
        control->head = control->head ^ std::uint64_t{1} << random() % 64;
        break;
      case 3: {
        const std::uint64_t word = random();
        const auto near = ring_word{control->tail}.position() + random() % 4;
        std::memcpy(data + near % ring_units * unit_bytes, &word, 8);
        break;
      }
      case 4:
      case 5:
        put(packet(1, 2, i, 8 + random() % 4345));
        break;
      default:
        take();
    }
  }
  // If the ring is full and its head was overwritten, the consumer takes nothing until the producer
  // publishes the head again, as fabric_port does.
  producer->repair_head(*control);
  while (has_bytes()) take();
  consumer->give_room(*control);
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_TRUE(put(packet(1, 2, 77 + i, 100)));
    while (has_bytes()) take();
  }
  EXPECT_EQ(78u, number_of(got));
}

}  // namespace
}  // namespace freehca::wires::shm
