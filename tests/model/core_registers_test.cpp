// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <freehca/layouts/query_fw.hpp>

#include "test_driver.hpp"

namespace freehca::model::test {
namespace {

namespace bar0 = layouts::bar0;
using layouts::command_status;
using layouts::hcr;
using layouts::opcode;

struct core_registers : ::testing::Test {
  test_host host;
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
};

TEST_F(core_registers, the_ownership_semaphore_is_taken_by_the_read_that_gives_zero) {
  EXPECT_EQ(driver.read(bar0::ownership), 0u);
  EXPECT_NE(driver.read(bar0::ownership), 0u);
  EXPECT_NE(driver.read(bar0::ownership), 0u);
  driver.write(bar0::ownership, 0);
  EXPECT_EQ(driver.read(bar0::ownership), 0u);
}

TEST_F(core_registers, the_flash_semaphore_is_freed_by_a_software_reset) {
  EXPECT_EQ(driver.read(bar0::flash_semaphore), 0u);
  EXPECT_NE(driver.read(bar0::flash_semaphore), 0u);
  driver.write(bar0::reset, bar0::reset_value);
  EXPECT_EQ(host.wipes, 1u);
  EXPECT_EQ(driver.read(bar0::flash_semaphore), 0u);
}

TEST_F(core_registers, a_software_reset_forgets_everything_lent) {
  ASSERT_TRUE(driver.bring_up());
  EXPECT_NE(driver.counter_named("icm_pages"), 0u);
  driver.write(bar0::reset, bar0::reset_value);
  EXPECT_EQ(driver.counter_named("icm_pages"), 0u);
  EXPECT_EQ(driver.counter_named("firmware_pages"), 0u);
  EXPECT_EQ(driver.counter_named("auxiliary_pages"), 0u);
  EXPECT_EQ(driver.command(opcode::nop).status, command_status::bad_system_state);
  EXPECT_TRUE(driver.bring_up());
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_F(core_registers, other_values_do_not_reset) {
  driver.write(bar0::reset, 0);
  EXPECT_EQ(host.wipes, 0u);
  EXPECT_EQ(hca.complaints(), 1u);
}

TEST_F(core_registers, the_hardware_id_is_the_variants) {
  EXPECT_EQ(driver.read(bar0::hardware_id), 0x1f7u);
  options older = test_options();
  older.kind = variant::connectx2;
  device second(host, older);
  EXPECT_EQ(second.read_registers(bar0::hardware_id, 4), 0xb00190u);
}

TEST_F(core_registers, the_error_buffer_is_zero_while_all_is_well) {
  layouts::image<layouts::query_fw> fw;
  ASSERT_EQ(driver.query(opcode::query_fw, fw).status, command_status::ok);
  const auto at = static_cast<std::uint32_t>(fw.get<&layouts::query_fw::error_buf_offset>());
  EXPECT_EQ(fw.get<&layouts::query_fw::error_buf_bar>(), 0u);
  EXPECT_EQ(fw.get<&layouts::query_fw::error_buf_size>(), 16u);
  for (std::uint32_t word = 0; word < 16; ++word) EXPECT_EQ(driver.read(at + 4 * word), 0u);
}

TEST_F(core_registers, the_clock_runs_at_the_reported_frequency) {
  layouts::image<layouts::query_fw> fw;
  ASSERT_EQ(driver.query(opcode::query_fw, fw).status, command_status::ok);
  const auto at = static_cast<std::uint32_t>(fw.get<&layouts::query_fw::clock_offset>());
  ASSERT_NE(at, 0u);
  const std::uint64_t before = hca.read_registers(at, 8);
  host.advance(1'000'000);
  EXPECT_EQ(hca.read_registers(at, 8) - before, 427'000u);
  EXPECT_EQ(std::uint64_t{driver.read(at)} << 32 | driver.read(at + 4), hca.read_registers(at, 8));
}

// Linux reads high, low, high until both high words are the same (main.c mlx4_read_clock).
TEST_F(core_registers, the_words_of_the_clock_are_of_one_moment) {
  layouts::image<layouts::query_fw> fw;
  ASSERT_EQ(driver.query(opcode::query_fw, fw).status, command_status::ok);
  const auto at = static_cast<std::uint32_t>(fw.get<&layouts::query_fw::clock_offset>());
  const auto both = [](std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
  };
  // Just before the low word wraps: 427 ticks a microsecond.
  const std::uint64_t now = hca.read_registers(at, 8);
  host.advance(((std::uint64_t{1} << 32) - (now & 0xffff'ffff)) / 427 * 1000 - 1'000'000);
  const std::uint64_t before = hca.read_registers(at, 8);
  ASSERT_GT(before & 0xffff'ffff, 0xfff0'0000u);
  const std::uint32_t high = driver.read(at);
  host.advance(2'000'000);
  const std::uint32_t low = driver.read(at + 4);
  const std::uint64_t after = hca.read_registers(at, 8);
  ASSERT_EQ(after >> 32, (before >> 32) + 1) << "the clock did not wrap between";
  EXPECT_GE(both(high, low), before);
  EXPECT_LE(both(high, low), after);

  // Linux's reading, with a moment between all words and a wrap in each of the gaps.
  for (unsigned gap = 0; gap < 3; ++gap) {
    host.advance(((std::uint64_t{1} << 32) - (hca.read_registers(at, 8) & 0xffff'ffff)) / 427 *
                     1000 -
                 1'000'000);
    const std::uint64_t from = hca.read_registers(at, 8);
    std::uint32_t h = 0, l = 0, again = 0;
    unsigned rounds = 0, words = 0;
    const auto word = [&](std::uint32_t offset) {
      const std::uint32_t value = driver.read(at + offset);
      host.advance(words++ == gap ? 2'000'000 : 10);
      return value;
    };
    do {
      ASSERT_LT(rounds++, 3u);
      h = word(0);
      l = word(4);
      again = word(0);
    } while (h != again);
    EXPECT_GE(both(h, l), from) << gap;
    EXPECT_LE(both(h, l), hca.read_registers(at, 8)) << gap;
  }
}

TEST_F(core_registers, odd_sizes_and_places_are_complained_of) {
  EXPECT_EQ(hca.read_registers(0x1000, 2), ~std::uint64_t{0});
  EXPECT_EQ(hca.read_registers(0x1002, 4), ~std::uint64_t{0});
  hca.write_registers(bar0::hcr, 0, 8);
  hca.write_registers(0x100, 1, 4);
  hca.write_registers(bar0::size, 1, 4);
  EXPECT_EQ(hca.complaints(), 5u);
}

TEST_F(core_registers, a_write_to_the_command_register_while_go_is_set_changes_nothing) {
  fault_options slow;
  slow.command_latency_ns = 1000;
  hca.set_faults(slow);
  driver.post(opcode::query_fw, 0, 0, 0, driver.output, 7, false);
  driver.write(bar0::hcr, 0xdead);
  EXPECT_TRUE(driver.go());
  EXPECT_EQ(hca.complaints(), 1u);
  host.advance(1000);
  EXPECT_FALSE(driver.go());
  EXPECT_EQ(driver.command_register().get<&hcr::status>(), command_status::ok);
}

TEST_F(core_registers, the_toggle_bit_stays_as_written) {
  for (int i = 0; i < 4; ++i) {
    const bool before = driver.command_register().get<&hcr::t>();
    driver.command(opcode::query_fw, 0, 0, 0, driver.output);
    EXPECT_NE(driver.command_register().get<&hcr::t>(), before);
  }
}

TEST_F(core_registers, doorbells_before_init_hca_are_complained_of) {
  hca.write_uar(0x800, 0, 4);
  EXPECT_EQ(hca.complaints(), 1u);
  EXPECT_EQ(hca.read_uar(0x800, 4), 0u);
}

}  // namespace
}  // namespace freehca::model::test
