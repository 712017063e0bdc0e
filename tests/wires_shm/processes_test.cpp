// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Several processes on a fabric: wake-ups, deaths, forks, and the last one that leaves.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include <freehca/wires_shm/fabrics.hpp>

#include "helper_process.hpp"
#include "packets.hpp"

namespace freehca::wires {
namespace {

using helper = std::unique_ptr<helper_process>;

/// The first line of a helper's output: the port that it has.
struct joined {
  unsigned lid = 0;
  unsigned slot = 0;
};
joined joined_as(helper_process& of) {
  joined as;
  const std::string line = of.line();
  EXPECT_EQ(2, std::sscanf(line.c_str(), "lid %u slot %u", &as.lid, &as.slot)) << line;
  return as;
}

class processes : public ::testing::Test {
 protected:
  ~processes() override { EXPECT_FALSE(exists(path_of(name))); }

  helper start(const std::string& mode, const std::string& more = "") {
    return std::make_unique<helper_process>(std::vector<std::string>{mode, name, more});
  }
  bool is_member(unsigned slot, pid_t process) const {
    for (const fabric_listing& one : fabrics())
      if (one.name == name)
        return std::any_of(one.members.begin(), one.members.end(), [&](const fabric_member& m) {
          return m.slot == slot && m.process == process;
        });
    return false;
  }

  /// The number of ports that a process without any finds alive.
  int members_for_another_process() const {
    const pid_t child = fork();
    if (child == 0) {
      for (const fabric_listing& one : fabrics())
        if (one.name == name) _exit(static_cast<int>(one.members.size()));
      _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const std::string name = new_name();
  std::string why;
};

TEST_F(processes, lose_no_wake_up_in_100000_answers) {
  const auto port = fabric_port::join(name, why);
  ASSERT_NE(nullptr, port) << why;
  const helper other = start("echo");
  const joined as = joined_as(*other);
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    const auto sent = packet(as.lid, port->lid(), i, 64);
    ASSERT_TRUE(port->send(sent.data(), sent.size()));
    std::span<const std::byte> got;
    while ((got = port->receive()).empty()) {
      // So that an answer arrives at each moment around the look before the sleep.
      for (std::atomic<unsigned> spins = i % 997; spins != 0;) --spins;
      port->sleep(fabric_port::no_timeout);
    }
    ASSERT_EQ(i, number_of(got));
    port->release();
  }
  EXPECT_EQ(0, other->end());
}

TEST_F(processes, lose_no_wake_up_for_room) {
  const auto port = fabric_port::join(name, why);
  ASSERT_NE(nullptr, port) << why;
  constexpr std::uint32_t packets = 30'000;
  const helper other = start("drain", std::to_string(packets));
  const joined as = joined_as(*other);
  for (std::uint32_t i = 0; i < packets; ++i) {
    const auto sent = packet(as.lid, port->lid(), i, 4096);
    while (!port->send(sent.data(), sent.size()))
      while (!port->has_room_again()) port->sleep(fabric_port::no_timeout);
  }
  EXPECT_EQ("done", other->line());
  EXPECT_EQ(0, other->end());
}

TEST_F(processes, that_are_killed_free_their_slots) {
  const auto port = fabric_port::join(name, why);
  ASSERT_NE(nullptr, port) << why;
  std::mt19937 random(seed());
  std::vector<helper> talkers;
  std::vector<joined> as;
  for (unsigned i = 0; i < 4; ++i) {
    talkers.push_back(start("talk"));
    as.push_back(joined_as(*talkers.back()));
  }
  for (unsigned i = 0; i < 50; ++i) {
    const std::size_t victim = random() % talkers.size();
    pid_t child = 0;
    if (i % 5 == 0) {  // one whose child lives on
      talkers.push_back(start("talk-and-fork"));
      std::swap(talkers[victim], talkers.back());
      const joined again = joined_as(*talkers[victim]);
      const std::string line = talkers[victim]->line();
      ASSERT_EQ(1, std::sscanf(line.c_str(), "child %d", &child)) << line;
      EXPECT_EQ(0, talkers.back()->end());
      talkers.pop_back();
      as[victim] = again;
    }
    EXPECT_TRUE(is_member(as[victim].slot, talkers[victim]->id()));
    usleep(static_cast<useconds_t>(random() % 5000));
    const pid_t killed = talkers[victim]->id();
    talkers[victim]->kill();
    EXPECT_FALSE(is_member(as[victim].slot, killed));
    talkers[victim] = start("talk");
    as[victim] = joined_as(*talkers[victim]);
    EXPECT_NE(0u, as[victim].lid);
    if (child != 0) {
      EXPECT_EQ(0, kill(child, 0));
      kill(child, SIGKILL);
    }
  }
  for (const helper& one : talkers) EXPECT_EQ(0, one->end()) << one->line();
}

TEST_F(processes, a_killed_parent_frees_its_slot_while_its_child_lives) {
  const auto port = fabric_port::join(name, why);
  ASSERT_NE(nullptr, port) << why;
  const helper parent = start("talk-and-fork");
  const joined as = joined_as(*parent);
  pid_t child = 0;
  const std::string line = parent->line();
  ASSERT_EQ(1, std::sscanf(line.c_str(), "child %d", &child));
  parent->kill();
  ASSERT_EQ(0, kill(child, 0));
  // All packets of the dead port are taken, so that its slot is as good as others.
  while (!port->receive().empty()) port->release();
  const helper next = start("echo");
  EXPECT_EQ(as.slot, joined_as(*next).slot);
  ASSERT_EQ(0, kill(child, 0));
  EXPECT_EQ(0, next->end());
  kill(child, SIGKILL);
}

TEST_F(processes, a_sender_does_not_wait_for_a_dead_receiver) {
  const auto port = fabric_port::join(name, why);
  ASSERT_NE(nullptr, port) << why;
  const helper other = start("echo");
  const joined as = joined_as(*other);
  kill(other->id(), SIGSTOP);
  const auto sent = packet(as.lid, port->lid(), 1, 4096);
  while (port->send(sent.data(), sent.size())) {
  }
  EXPECT_FALSE(port->has_room_again());
  other->kill();
  while (!port->has_room_again()) port->sleep(fabric_port::no_timeout);
  EXPECT_TRUE(port->send(sent.data(), sent.size()));
}

TEST_F(processes, a_child_has_no_part_in_its_parents_port) {
  auto port = fabric_port::join(name, why);
  ASSERT_NE(nullptr, port) << why;
  const auto sent = packet(port->lid(), port->lid(), 1, 100);
  ASSERT_TRUE(port->send(sent.data(), sent.size()));
  const pid_t child = fork();
  if (child == 0) {
    bool right = port->receive().empty() && !port->pending() &&
                 port->send(sent.data(), sent.size()) && !port->has_room_again();
    // A port of its own, which has to outlive the parent's copy.
    auto own = fabric_port::join(name, why);
    const unsigned parents = port->slot();
    port.reset();
    right = right && own != nullptr && own->slot() != parents;
    // Another process sees both: the child's own lock has survived.
    right = right && members_for_another_process() == 2;
    // To itself: the parent's port stays as it is.
    if (right) {
      const auto again = packet(own->lid(), own->lid(), 2, 100);
      right = own->send(again.data(), again.size()) && number_of(own->receive()) == 2;
    }
    own.reset();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  EXPECT_TRUE(is_member(port->slot(), getpid()));
  EXPECT_EQ(1u, number_of(port->receive()));
  port->release();
  EXPECT_TRUE(port->receive().empty());
}

TEST_F(processes, leave_no_name_however_they_come_and_go) {
  for (unsigned round = 0; round < 4; ++round) {
    std::vector<helper> all;
    for (unsigned i = 0; i < 4; ++i) all.push_back(start("join-often", "150"));
    for (const helper& one : all) {
      const std::string line = one->line();
      EXPECT_EQ(0, one->end()) << line;
    }
    EXPECT_FALSE(exists(path_of(name)));
  }
}

TEST_F(processes, a_clean_leaver_removes_the_name_that_killed_ones_left) {
  auto port = fabric_port::join(name, why);
  const helper other = start("echo");
  joined_as(*other);
  other->kill();
  port.reset();
  EXPECT_FALSE(exists(path_of(name)));
}

}  // namespace
}  // namespace freehca::wires
