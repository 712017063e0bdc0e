// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <size.hpp>

#include <string>

#include <gtest/gtest.h>

namespace freehca::hcactl {
namespace {

TEST(size, of_a_table_by_its_name) {
  budget b;
  EXPECT_EQ(set_size(b, "qps=18"), "");
  EXPECT_EQ(set_size(b, "mcg_entry=10"), "");
  EXPECT_EQ(set_size(b, "rdmarc_per_qp=0"), "");
  EXPECT_EQ(b.log_qps, 18u);
  EXPECT_EQ(b.log_mcg_entry_bytes, 10u);
  EXPECT_EQ(b.log_rdmarc_per_qp, 0u);
  EXPECT_EQ(b.log_cqs, budget{}.log_cqs);
}

TEST(size, that_cannot_be_is_refused_with_what_can_and_changes_nothing) {
  for (const char* text : {"qps", "qps=", "qps=6", "qps=25", "qps=-1", "qps=18x", "qps= 18"}) {
    budget b;
    EXPECT_NE(set_size(b, text).find("from 7 to 24, as in qps=11"), std::string::npos)
        << text << ": " << set_size(b, text);
    EXPECT_EQ(b.log_qps, budget{}.log_qps) << text;
  }
  for (const char* text : {"", "=", "=18", "queues=18", "qp=18", "qpss=18"}) {
    budget b;
    EXPECT_NE(set_size(b, text).find("NAME is one of qps, srqs"), std::string::npos) << text;
  }
}

TEST(size, has_a_name_for_what_bring_up_refuses) {
  EXPECT_EQ(size_name(budget::item::qps), "qps");
  EXPECT_EQ(size_name(budget::item::mtts), "mtts");
  EXPECT_EQ(size_name(budget::item::multicast_groups), "mcgs");
  EXPECT_EQ(size_name(budget::item::reads_per_qp), "rdmarc_per_qp");
  EXPECT_EQ(size_name(budget::item::storage), "");
  EXPECT_EQ(size_name(budget::item{}), "");
}

TEST(size, is_told_from_what_it_is_by_default) {
  budget b;
  EXPECT_FALSE(sized(b));
  b.completion_event_queues = 3;
  EXPECT_FALSE(sized(b));
  ASSERT_EQ(set_size(b, "rdmarc_per_qp=5"), "");
  EXPECT_TRUE(sized(b));
}

}  // namespace
}  // namespace freehca::hcactl
