// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A process that writes over the file at random while two ports talk. The ports stay within their
// memory, return from each call, and talk again afterwards.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "fabric_layout.hpp"
#include "helper_process.hpp"
#include "packets.hpp"
#include "ring_word.hpp"

namespace freehca::wires {
namespace {

class hostile_peer : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    a = fabric_port::join(name, why);
    b = fabric_port::join(name, why);
    ASSERT_NE(nullptr, b) << why;
    for (auto* port : {a.get(), b.get()}) EXPECT_TRUE(port->join_group(0xc001));
  }
  ~hostile_peer() override {
    a.reset();
    b.reset();
    remove(path_of(name).c_str());
  }

  static void step(fabric_port& from, unsigned to, std::mt19937& random) {
    if (random() % 3 == 0) to = 0xc001;
    const auto sent = packet(to, from.lid(), ++number_sent, 16 + random() % 4000);
    if (!from.send(sent.data(), sent.size())) from.has_room_again();
    for (unsigned i = 0; i < 4; ++i) {
      const auto got = from.receive();
      if (got.empty()) break;
      EXPECT_GE(got.size(), fabric_port::shortest_packet);
      EXPECT_LE(got.size(), fabric_port::longest_packet);
      from.release();
    }
    if (random() % 64 == 0) from.sleep(1000);
  }
  void talk_beside(const std::string& mode) {
    const std::uint32_t start = seed();
    helper_process other({mode, name, std::to_string(start)});
    ASSERT_EQ("scribbles", other.line());
    std::mt19937 random(start);
    for (unsigned i = 0; i < 100'000; ++i) {
      step(*a, b->lid(), random);
      step(*b, a->lid(), random);
    }
    EXPECT_EQ(0, other.end());
  }
  /// Whether a packet arrives whole after a few that heal the rings.
  static bool arrives(fabric_port& from, fabric_port& to) {
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint32_t number = 0xabcd'0000 + i;
      const auto sent = packet(to.lid(), from.lid(), number, 200);
      if (!from.send(sent.data(), sent.size())) from.has_room_again();
      for (unsigned looks = 0; looks < 1000; ++looks) {
        const auto got = to.receive();
        const bool same =
            got.size() == sent.size() && std::equal(got.begin(), got.end(), sent.begin());
        to.release();
        if (same) return true;
      }
    }
    return false;
  }

  static inline std::uint32_t number_sent = 0;
  const std::string name = new_name();
  std::unique_ptr<fabric_port> a, b;
};

TEST_F(hostile_peer, that_writes_over_rings_is_survived_and_healed) {
  talk_beside("scribble-rings");
  EXPECT_GT(a->faults().rings_reset + b->faults().rings_reset, 0u);
  EXPECT_TRUE(arrives(*a, *b));
  EXPECT_TRUE(arrives(*b, *a));
}

/// While a ring is full, its producer puts no packet. So it has to see by other means that a peer
/// has written over the words that lead the consumer to the packets.
TEST_F(hostile_peer, that_hides_the_packets_of_a_full_ring_is_healed) {
  const int file = open(path_of(name).c_str(), O_RDWR | O_CLOEXEC);
  void* const at = mmap(nullptr, shm::control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(MAP_FAILED, at);
  auto& control = *static_cast<shm::control_part*>(at);
  std::atomic<std::uint64_t>& head = control.rings[b->slot()][a->slot()].head;
  const auto fill = [&] {
    const auto sent = packet(b->lid(), a->lid(), 1, 200);  // as those of arrives()
    while (a->send(sent.data(), sent.size())) continue;
  };
  // An adapter whose packet was refused asks for room, and sends nothing until there is some.
  const auto taken = [&] {
    for (unsigned i = 0; i < 1000; ++i) {
      static_cast<void>(a->has_room_again());
      if (b->receive().empty()) continue;
      b->release();
      return true;
    }
    return false;
  };
  for (const bool asks : {false, true}) {
    fill();
    head = shm::ring_word{head}.begun_again().value;
    EXPECT_TRUE(b->receive().empty());
    if (asks) {
      EXPECT_TRUE(taken()) << "behind another head";
    }
    EXPECT_TRUE(arrives(*a, *b)) << "behind another head";
    fill();
    control.slot[b->slot()].talkers = 0;
    EXPECT_TRUE(b->receive().empty());
    if (asks) {
      EXPECT_TRUE(taken()) << "behind another set of talkers";
    }
    EXPECT_TRUE(arrives(*a, *b)) << "behind another set of talkers";
  }
  munmap(at, shm::control_bytes);
  a.reset();
  b.reset();
  close(file);  // that ends the locks of this process
}

TEST_F(hostile_peer, that_writes_over_everything_is_survived) {
  talk_beside("scribble");
}

}  // namespace
}  // namespace freehca::wires
