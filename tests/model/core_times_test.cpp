// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An adapter that takes its time, and drivers that forget to wait for it.
#include <set>

#include "transport_fixture.hpp"

namespace freehca::model::test {
namespace {

using layouts::opcode;

struct core_times : ::testing::Test {
  test_host host;
  device hca{host, test_options()};
  test_driver driver{host, hca};

  void reset_takes(std::uint64_t nanoseconds, std::uint64_t seed = 0) {
    fault_options faults;
    faults.reset_latency_ns = nanoseconds;
    faults.time_seed = seed;
    hca.set_faults(faults);
  }
  void software_reset() { driver.write(layouts::bar0::reset, layouts::bar0::reset_value); }
};

TEST_F(core_times, a_reset_of_the_bus_ends_one_that_goes_on) {
  reset_takes(environment::never - 1);
  const std::uint32_t id = driver.read(layouts::bar0::hardware_id);
  software_reset();
  ASSERT_TRUE(hca.in_reset());
  hca.reset();
  EXPECT_FALSE(hca.in_reset());
  EXPECT_EQ(driver.read(layouts::bar0::hardware_id), id);
}

TEST_F(core_times, nobody_is_there_while_a_reset_goes_on) {
  reset_takes(1'000'000);
  ASSERT_TRUE(driver.bring_up());
  const std::uint32_t id = driver.read(layouts::bar0::hardware_id);
  software_reset();
  EXPECT_TRUE(hca.in_reset());
  EXPECT_EQ(hca.complaints(), 0u);
  EXPECT_EQ(driver.read(layouts::bar0::hardware_id), 0xffffffff);
  EXPECT_EQ(hca.read_registers(layouts::bar0::hardware_id, 8), ~std::uint64_t{0});
  EXPECT_NE(
      host.complaints.front().find("read of BAR0 within 1000000 ns of the end of a software reset"),
      std::string::npos)
      << host.complaints.front();
  driver.write(layouts::bar0::ownership, 0);
  hca.write_uar(0x14, 0, 4);
  EXPECT_EQ(hca.complaints(), 4u);
  host.advance(999'999);
  EXPECT_TRUE(hca.in_reset());
  host.advance(1);
  EXPECT_FALSE(hca.in_reset());
  EXPECT_EQ(driver.read(layouts::bar0::hardware_id), id);
  EXPECT_TRUE(driver.bring_up());
  EXPECT_EQ(hca.complaints(), 4u);
}

TEST_F(core_times, a_driver_that_forgets_to_wait_for_a_reset_does_not_come_up) {
  // The same driver passes on an adapter whose reset takes no time.
  software_reset();
  EXPECT_TRUE(driver.bring_up());
  reset_takes(1'000'000);
  const std::uint64_t before = driver.counter_named("command_QUERY_FW");
  software_reset();
  driver.post(opcode::query_fw, 0, 0, 0, driver.output, layouts::polled_token, false);
  EXPECT_TRUE(driver.go()) << "all ones: GO, as of a command that does not end";
  host.advance(1'000'000);
  EXPECT_FALSE(driver.go()) << "the command went nowhere";
  EXPECT_EQ(driver.counter_named("command_QUERY_FW"), before);
  EXPECT_GT(hca.complaints(), 0u);
}

TEST_F(core_times, times_are_drawn_by_a_seed_and_come_again_with_it) {
  const auto ends = [this](std::uint64_t seed) {
    reset_takes(1'000'000, seed);
    std::vector<std::uint64_t> all;
    for (unsigned i = 0; i < 16; ++i) {
      const std::uint64_t began = host.clock;
      software_reset();
      while (hca.in_reset()) host.advance(1000);
      all.push_back(host.clock - began);
    }
    return all;
  };
  const auto once = ends(7);
  EXPECT_EQ(ends(7), once);
  EXPECT_NE(ends(8), once);
  EXPECT_GT((std::set<std::uint64_t>(once.begin(), once.end()).size()), 8u);
  EXPECT_LE(*std::max_element(once.begin(), once.end()), 1'001'000u);
  EXPECT_EQ(ends(0), std::vector<std::uint64_t>(16, 1'000'000));
}

TEST_F(core_times, latencies_of_commands_are_drawn_too) {
  fault_options faults;
  faults.command_latency_ns = 1'000'000;
  faults.time_seed = 3;
  hca.set_faults(faults);
  std::set<std::uint64_t> seen;
  for (unsigned i = 0; i < 16; ++i) {
    const std::uint64_t began = host.clock;
    driver.post(opcode::query_fw, 0, 0, 0, driver.output, layouts::polled_token, false);
    while (driver.go()) host.advance(1000);
    seen.insert(host.clock - began);
  }
  EXPECT_GT(seen.size(), 8u);
  EXPECT_LE(*seen.rbegin(), 1'001'000u);
}

class slow_work : public transport_fixture {
 protected:
  slow_work() : a(make_qp(0x100)), b(make_qp(0x101)) {
    to_rts(a, b.number);
    to_rts(b, a.number);
    fill(region_start, 64, 1);
  }
  void work_takes(std::uint64_t nanoseconds) {
    fault_options faults;
    faults.work_latency_ns = nanoseconds;
    hca->set_faults(faults);
  }
  test_send write() const {
    return transfer(wqe_opcode::rdma_write, 64, region_start, region_start + 0x10000);
  }
  test_qp a, b;
};

TEST_F(slow_work, a_driver_that_reads_the_completion_at_once_finds_none) {
  layouts::image<layouts::cqe> e;
  const auto at_once = [&] {
    send(a, write());
    host->run();
    return driver->next_completion(cq, e);
  };
  EXPECT_TRUE(at_once());
  work_takes(50'000);
  EXPECT_FALSE(at_once());
  host->advance(49'999);
  EXPECT_FALSE(driver->next_completion(cq, e));
  host->advance(1);
  EXPECT_TRUE(driver->next_completion(cq, e));
  expect_pattern(region_start + 0x10000, 64, 1);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(slow_work, a_doorbell_on_its_way_is_no_doorbell_that_was_forgotten) {
  send(a, write());
  host->run();
  work_takes(50'000);
  send(a, write());
  constexpr auto no_output = static_cast<unsigned>(layouts::to_rst_qp_modifier::no_output);
  EXPECT_EQ(driver->command(opcode::to_rst_qp, 0, a.number, no_output).status, command_status::ok);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(slow_work, a_driver_that_died_with_a_command_under_way_is_not_blamed_for_its_event) {
  driver->post(opcode::nop, 0, 0, 0, 0, 0x1111, true);
  host->bus_master_on = false;
  host->run();
  EXPECT_EQ(driver->counter_named("commands_in_flight"), 0u);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(slow_work, requests_are_not_taken_early_for_another_reason) {
  send(a, write());
  EXPECT_TRUE(driver->counter_named("cqes") == 0);
  completion();
  work_takes(50'000);
  send(a, write());
  host->advance(20'000);
  // A doorbell that comes meanwhile, and traffic of the other direction.
  send(a, write());
  EXPECT_TRUE(no_completion());
  host->advance(30'000);
  completion();
  completion();
  EXPECT_TRUE(no_completion());
}

TEST_F(slow_work, a_flush_waits_as_long) {
  ASSERT_EQ(driver->command(opcode::to_err_qp, 0, a.number).status, command_status::ok);
  work_takes(50'000);
  send(a, write());
  EXPECT_TRUE(no_completion());
  host->advance(50'000);
  expect_error(a, true, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
}

}  // namespace
}  // namespace freehca::model::test
