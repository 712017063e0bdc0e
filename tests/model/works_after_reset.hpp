// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include <gtest/gtest.h>

#include "test_driver.hpp"

namespace freehca::model::test {

/// Whatever was done to the adapter: the software reset takes it all back.
inline void expect_as_new_after_reset(test_driver& driver) {
  using layouts::command_status;
  using layouts::opcode;
  test_host& host = driver.host;
  host.bus_master_on = host.msix_on = true;
  driver.write(layouts::bar0::reset, 1);
  // What waited, a cable full of frames for one, is given back in turns; no time passes.
  host.run();
  EXPECT_TRUE(host.idle());
  EXPECT_FALSE(host.intx_asserted);
  // In one pass: inputs of a fuzzer come here.
  constexpr std::string_view none_left[] = {
      "queue_pairs",    "shared_receive_queues", "send_requests_held", "icm_pages",
      "firmware_pages", "auxiliary_pages",       "commands_in_flight"};
  unsigned seen = 0;
  counter c{};
  for (std::size_t i = 0; driver.hca.counter_at(i, c); ++i) {
    if (std::find(std::begin(none_left), std::end(none_left), c.name) == std::end(none_left))
      continue;
    ++seen;
    EXPECT_EQ(c.value, 0u) << c.name;
  }
  EXPECT_EQ(seen, std::size(none_left));
  EXPECT_EQ(driver.read(layouts::bar0::ownership), 0u);
  EXPECT_FALSE(driver.go());
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, driver.output).status, command_status::ok);
  EXPECT_EQ(driver.command(opcode::nop).status, command_status::bad_system_state);
}

/// And a driver finds the adapter in order.
inline void expect_works_after_reset(test_driver& driver) {
  using layouts::command_status;
  using layouts::opcode;
  test_host& host = driver.host;
  device& hca = driver.hca;
  const std::uint64_t complaints = hca.complaints();
  expect_as_new_after_reset(driver);
  ASSERT_TRUE(driver.bring_up());
  test_driver::queue eq;
  ASSERT_EQ(driver.make_eq(eq, 40, 9).status, command_status::ok);
  ASSERT_EQ(driver.command(opcode::map_eq, ~std::uint64_t{0}, 40).status, command_status::ok);
  host.messages.clear();
  driver.post(opcode::nop, 0, 0, 0, 0, 0x4321, true);
  host.run();
  layouts::image<layouts::eqe> e;
  ASSERT_TRUE(driver.next_event(eq, e));
  const auto done = layouts::image<layouts::eqe_command>::from_bytes(e.data());
  EXPECT_EQ(done.get<&layouts::eqe_command::token>(), 0x4321u);
  EXPECT_EQ(done.get<&layouts::eqe_command::status>(), command_status::ok);
  EXPECT_EQ(host.messages, std::vector<unsigned>{9});
  EXPECT_EQ(hca.complaints(), complaints);
}

inline void expect_works_after_reset(test_host& host, device& hca) {
  test_driver driver{host, hca};
  expect_works_after_reset(driver);
}

}  // namespace freehca::model::test
