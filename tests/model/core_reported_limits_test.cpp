// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What each variant reports fits together: tables that are as large as the reported numbers ask for
// are enough.
#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_port.hpp>

#include "test_driver.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::opcode;

struct core_reported_limits : ::testing::TestWithParam<variant> {
  static options of(variant kind, std::uint64_t uar_bar_bytes = 8u << 20) {
    options how = test_options();
    how.kind = kind;
    how.uar_bar_bytes = uar_bar_bytes;
    return how;
  }
  using l = layouts::query_dev_cap;
  test_host host;
  device hca{host, of(GetParam())};
  test_driver driver{host, hca};
  layouts::image<l> have;

  void SetUp() override {
    ASSERT_TRUE(driver.start_firmware());
    ASSERT_EQ(driver.query(opcode::query_dev_cap, have).status, command_status::ok);
  }
  /// The logarithm of the smallest table with that many entries.
  static unsigned log_of(std::uint64_t entries) {
    return static_cast<unsigned>(std::countr_zero(std::bit_ceil(entries)));
  }
};

/// Sizes, EQ and region as iPXE has them (hermon.c hermon_map_icm, hermon_create_eq,
/// hermon_setup_mpt).
TEST_P(core_reported_limits, tables_as_large_as_iPXEs_hold_its_event_queue_and_its_region) {
  using p = layouts::init_hca;
  const std::uint64_t qps = 1u << have.get<&l::log_rsvd_qps>(),
                      cqs = 1u << have.get<&l::log_rsvd_cqs>(), eqs = have.get<&l::num_rsvd_eqs>(),
                      mpts = 1u << have.get<&l::log_rsvd_mrws>();
  ASSERT_EQ(eqs, 1u << have.get<&l::log_rsvd_eqs>());
  auto profile = driver.profile();
  profile.set<&p::log_num_qps>(log_of(qps + 15 + 8))
      .set<&p::log_num_srqs>(have.get<&l::log_rsvd_srqs>())
      .set<&p::log_num_cqs>(log_of(cqs + 8))
      .set<&p::log_num_eqs>(log_of(eqs + 8))
      .set<&p::log_mpt_sz>(log_of(mpts + 1))
      .set<&p::log_rd_per_qp>(0u);
  ASSERT_TRUE(driver.prepare_context_memory());
  ASSERT_EQ(driver.command_with(opcode::init_hca, profile).status, command_status::ok);

  test_driver::queue eq;
  const auto eqn = static_cast<std::uint32_t>(std::max(4 * have.get<&l::num_rsvd_uars>(), eqs));
  EXPECT_EQ(driver.make_eq(eq, eqn, 0).status, command_status::ok);
  // Below it nothing is free: those EQs have their doorbells in firmware's pages.
  EXPECT_EQ(driver.make_eq(eq, eqn - 1, 0).status, command_status::bad_resource);
  command_status s{};
  driver.make_region(static_cast<std::uint32_t>(mpts), 7, driver.make_buffer(1), 0, 4096, &s);
  EXPECT_EQ(s, command_status::ok);
}

TEST_P(core_reported_limits, a_port_is_the_same_in_both_reports) {
  using q = layouts::query_port;
  layouts::image<q> port;
  ASSERT_EQ(driver.query(opcode::query_port, port, 1).status, command_status::ok);
  EXPECT_EQ(have.get<&l::max_mtu_rev2>(), port.get<&q::ib_mtu>());
  EXPECT_EQ(have.get<&l::max_port_width_rev2>(), port.get<&q::ib_port_width>());
  EXPECT_EQ(std::uint64_t{1} << (have.get<&l::max_vl_rev2>() - 1), port.get<&q::max_vl>());
  EXPECT_EQ(have.get<&l::log_max_gid>(), port.get<&q::log_max_gid>());
  EXPECT_EQ(have.get<&l::log_max_pkey>(), port.get<&q::log_max_pkey>());
}

TEST_P(core_reported_limits, BlueFlame_pages_fill_what_UAR_pages_leave_of_BAR2) {
  for (const unsigned mb : {8u, 32u, 128u}) {
    test_host other;
    device card{other, of(GetParam(), std::uint64_t{mb} << 20)};
    test_driver its{other, card};
    ASSERT_TRUE(its.start_firmware());
    ASSERT_EQ(its.query(opcode::query_dev_cap, have).status, command_status::ok);
    EXPECT_EQ(std::uint64_t{1} << have.get<&l::uar_sz>(), mb / 2);
    EXPECT_EQ(std::uint64_t{4096} << have.get<&l::log_max_bf_pages>(), (mb / 2) << 20);
  }
}

INSTANTIATE_TEST_SUITE_P(variants, core_reported_limits,
                         ::testing::Values(variant::connectx3_pro, variant::connectx3,
                                           variant::connectx2));

}  // namespace
}  // namespace freehca::model::test
