// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A host that does anything: the model neither crashes nor hangs, touches no memory that does not
// exist, and works again after a reset. Seeded, so that a failure repeats.
#include <gtest/gtest.h>

#include <random>

#include "works_after_reset.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::opcode;

struct core_hostile : ::testing::TestWithParam<unsigned> {
  test_host host{96u << 20};
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
  std::mt19937_64 random{GetParam()};

  std::uint64_t below(std::uint64_t limit) { return random() % limit; }
  /// Noise, most of it small numbers and zeros: those get further than pure noise does.
  void scribble(std::uint64_t address, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 4) {
      std::uint32_t v = 0;
      switch (below(6)) {
        case 0:
          v = static_cast<std::uint32_t>(random());
          break;
        case 1:
          v = static_cast<std::uint32_t>(below(256));
          break;
        case 2:
          v = 1u << below(32);
          break;
        default:
          break;
      }
      layouts::store_be(host.at(address) + i, v);
    }
  }
  void any_command() {
    static const std::vector<std::uint16_t> known = [] {
      std::vector<std::uint16_t> all;
      for (std::uint16_t o = 0; o < 0x1000; ++o)
        if (std::strcmp(layouts::name_of(static_cast<opcode>(o)), "unknown opcode") != 0)
          all.push_back(o);
      return all;
    }();
    // CLOSE_HCA and the like would end the fun at once.
    opcode o = static_cast<opcode>(known[below(known.size())]);
    if ((o == opcode::close_hca || o == opcode::unmap_icm) && below(20) != 0) o = opcode::sw2hw_cq;
    if (below(3) != 0) scribble(driver.input, 512);
    const std::uint64_t in = below(8) == 0 ? random() : driver.input;
    const std::uint64_t out = below(8) == 0 ? random() : driver.output;
    const auto modifier = static_cast<std::uint32_t>(below(4) == 0 ? random() : below(600));
    driver.post(o, in, modifier, static_cast<unsigned>(below(5) == 0 ? below(16) : 0), out,
                static_cast<std::uint16_t>(random()), below(4) == 0);
    host.advance(1000);
  }
};

TEST_P(core_hostile, any_command_at_any_time) {
  for (int life = 0; life < 4; ++life) {
    driver.write(layouts::bar0::reset, 1);
    if (life != 0) {
      ASSERT_TRUE(driver.bring_up());
    }
    const std::uint64_t taken = driver.counter_named("commands");
    for (int i = 0; i < 1500; ++i) any_command();
    EXPECT_GT(driver.counter_named("commands"), taken + 1000);
  }
  expect_works_after_reset(host, hca);
}

TEST_P(core_hostile, contexts_written_over_under_queues_at_work) {
  ASSERT_TRUE(driver.bring_up());
  test_driver::queue eq, cq;
  ASSERT_EQ(driver.make_eq(eq, 40, 0).status, command_status::ok);
  ASSERT_EQ(driver.make_cq(cq, 130, 40).status, command_status::ok);
  ASSERT_EQ(driver.command(opcode::map_eq, ~std::uint64_t{1}, 40).status, command_status::ok);
  const std::uint64_t everything = host.allocate(0);
  for (int i = 0; i < 3000; ++i) {
    // Somewhere in what was allocated so far: tables, queues, mailboxes.
    scribble(test_host::base + below((everything - test_host::base) / 64) * 64, 64);
    if (below(4) == 0) any_command();
    driver.ring_eq(eq, below(2) != 0);
    driver.arm_cq(cq, static_cast<layouts::cq_arm>(below(4)));
  }
  EXPECT_GT(hca.complaints(), 0u);
  expect_works_after_reset(host, hca);
}

TEST_P(core_hostile, any_register_and_doorbell) {
  ASSERT_TRUE(driver.bring_up());
  const std::uint64_t given = hca.complaints();
  std::uint64_t odd = 0;  // accesses of a size that no register has
  for (int i = 0; i < 5000; ++i) {
    const unsigned bytes = 1u << below(4);
    const std::uint64_t value = below(3) == 0 ? random() : below(1024) << below(32);
    switch (below(5)) {
      case 0:
        odd += bytes < 4;
        hca.read_registers(below(layouts::bar0::size + 16), bytes);
        break;
      case 1: {
        const std::uint64_t at = below(layouts::bar0::size + 16);
        if (at / 8 != layouts::bar0::reset / 8) hca.write_registers(at, value, bytes);
        break;
      }
      case 2:
        hca.write_registers(layouts::bar0::hcr + below(7) * 4, value, 4);
        break;
      case 3:
        odd += bytes < 4;
        hca.read_uar(below(how.uar_bar_bytes + 16), bytes);
        break;
      default: {
        const std::uint64_t places[] = {0x14, 0x20, 0x24, 0x800 + below(4) * 8, below(4096)};
        const std::uint64_t half = below(2) * how.uar_bar_bytes / 2;
        hca.write_uar(half + below(1024) * 4096 + places[below(5)], value, bytes);
      }
    }
    if (below(16) == 0) host.advance(1'000'000);
  }
  EXPECT_GT(odd, 500u);
  EXPECT_GE(hca.complaints() - given, odd);
  expect_works_after_reset(host, hca);
}

INSTANTIATE_TEST_SUITE_P(seeds, core_hostile, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace freehca::model::test
