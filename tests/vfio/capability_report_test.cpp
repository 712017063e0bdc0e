// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the report makes of an answer to QUERY_DEV_CAP that no adapter gives.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/description/adapter.hpp>

namespace freehca::description {
namespace {

using dev_cap = layouts::query_dev_cap;

capabilities made_up() {
  capabilities k;
  k.ports = 2;
  k.raw.set<&dev_cap::log_max_qps>(13).set<&dev_cap::log_max_cqs>(11).set<&dev_cap::log_max_mpts>(
      17);
  k.raw.set<&dev_cap::log_max_mtts>(21).set<&dev_cap::log_max_eqs>(7).set<&dev_cap::log_max_srqs>(
      9);
  k.raw_port[1].set<&layouts::query_port::ib_mtu>(4);
  k.raw.set<&dev_cap::max_sg_sq>(29).set<&dev_cap::max_sg_rq>(17).set<&dev_cap::log_max_msg_sz>(29);
  k.reserved_qps = 77;
  return k;
}

std::vector<std::string> flags_of(const capabilities& k) {
  return to_json(k)["flags"].get<std::vector<std::string>>();
}

TEST(capability_report, limits_are_those_of_the_answer) {
  const nlohmann::json j = to_json(made_up());
  EXPECT_EQ(j["limits"]["qps"], 8192);
  EXPECT_EQ(j["limits"]["cqs"], 2048);
  EXPECT_EQ(j["limits"]["srqs"], 512);
  EXPECT_EQ(j["limits"]["mpts"], 131072);
  EXPECT_EQ(j["limits"]["mtts"], 2097152);
  EXPECT_EQ(j["limits"]["eqs"], 128);
  EXPECT_EQ(j["limits"]["send_sges"], 29);
  EXPECT_EQ(j["limits"]["receive_sges"], 17);
  EXPECT_EQ(j["limits"]["message_bytes"], 536870912);
  EXPECT_EQ(j["limits"]["mtu"], 2048);
  EXPECT_EQ(j["limits"]["blueflame_bytes"], 0);
  EXPECT_EQ(j["reserved"]["qps"], 77);
}

TEST(capability_report, system_eqs_replace_the_power_of_two) {
  capabilities k = made_up();
  k.raw.set<&dev_cap::num_sys_eqs>(200);
  EXPECT_EQ(to_json(k)["limits"]["eqs"], 200);
}

TEST(capability_report, flags_go_by_name) {
  capabilities k;
  EXPECT_TRUE(flags_of(k).empty());
  k.raw.set<&dev_cap::flags>(static_cast<std::uint64_t>(layouts::dev_cap_flag::xrc) |
                             static_cast<std::uint64_t>(layouts::dev_cap_flag::cqe_64b));
  k.raw.set<&dev_cap::bmme_flags>(static_cast<std::uint32_t>(layouts::bmme_flag::fast_register));
  k.raw.set<&dev_cap::ext_2_flags>(
      static_cast<std::uint32_t>(layouts::dev_cap_ext_2_flag::update_qp));
  k.raw.set<&dev_cap::ext_3_flags>(
      static_cast<std::uint32_t>(layouts::dev_cap_ext_3_flag::vxlan_offloads));
  k.raw.set<&dev_cap::mad_demux>(true);
  EXPECT_EQ(flags_of(k), (std::vector<std::string>{"xrc", "cqe_64b", "fast_register", "update_qp",
                                                   "vxlan_offloads", "mad_demux"}));
}

// Each bit, alone, has one name, and no two have the same.
TEST(capability_report, no_flag_is_left_out) {
  std::vector<std::string> seen;
  const auto look = [&seen](const capabilities& k) {
    const auto names = flags_of(k);
    ASSERT_EQ(names.size(), 1u);
    seen.push_back(names.front());
  };
  for (unsigned bit = 0; bit < 64; ++bit) {
    capabilities k;
    k.raw.set<&dev_cap::flags>(std::uint64_t{1} << bit);
    look(k);
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    capabilities b, two, three;
    b.raw.set<&dev_cap::bmme_flags>(1u << bit);
    two.raw.set<&dev_cap::ext_2_flags>(1u << bit);
    three.raw.set<&dev_cap::ext_3_flags>(1u << bit);
    look(b);
    look(two);
    look(three);
  }
  EXPECT_NE(std::find(seen.begin(), seen.end(), "flags_27"), seen.end())
      << "a bit that nobody has a name for";
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(capability_report, text_has_all_that_json_has) {
  capabilities k = made_up();
  k.raw.set<&dev_cap::flags>(~std::uint64_t{0});
  const std::string text = to_text(k);
  EXPECT_NE(text.find("8192 QPs"), std::string::npos) << text;
  EXPECT_NE(text.find("77 QPs"), std::string::npos) << text;
  for (const std::string& name : flags_of(k)) EXPECT_NE(text.find(name), std::string::npos) << name;
  std::size_t from = 0;
  for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    EXPECT_LE(end - from, 110u) << text.substr(from, end - from);
  EXPECT_EQ(from, text.size()) << "no newline at the end";
}

}  // namespace
}  // namespace freehca::description
