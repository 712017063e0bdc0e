// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/description/address_tables.hpp>

#include <gtest/gtest.h>

#include <freehca/blocking/session.hpp>
#include <freehca/hca/every_kind.hpp>

#include <in_process_host.hpp>

namespace freehca::description {
namespace {

class address_tables : public ::testing::Test {
 protected:
  void read(const in_process::machine_options& how) {
    blocking::in_process_host host(how);
    blocking::session s(host, {.budget = {}, .objects = every_kind()});
    ASSERT_TRUE(s.open().ok());
    ASSERT_TRUE(s.wait(s.adapter().bring_up()).ok());
    const std::uint64_t before = s.adapter().hardware().info().commands_issued;
    EXPECT_TRUE(read_address_tables(
                    s.adapter().hardware(), [&s](operation& op) { return s.wait(op); }, tables)
                    .ok());
    commands = s.adapter().hardware().info().commands_issued - before;
    for (unsigned p = 0; p < 2; ++p) guids[p] = s.adapter().hardware().info().port[p].guid;
    EXPECT_TRUE(s.tear_down().ok());
  }
  std::vector<port_tables> tables;
  std::uint64_t commands = 0, guids[2] = {};
};

TEST_F(address_tables, have_the_ports_own_entries_first_and_nothing_behind) {
  read({});
  ASSERT_EQ(tables.size(), 2u);
  for (unsigned p = 0; p < 2; ++p) {
    const port_tables& t = tables[p];
    EXPECT_EQ(t.port, p + 1);
    ASSERT_EQ(t.gids.size(), 128u);
    ASSERT_EQ(t.pkeys.size(), 128u);
    EXPECT_EQ(t.gids[0], gid_of(0xfe80000000000000, guids[p]));
    EXPECT_EQ(t.gids[1], gid{});
    EXPECT_EQ(t.pkeys[0], 0xffff);
    EXPECT_EQ(t.pkeys[1], 0);
  }
  EXPECT_EQ(commands, 2u * (128 / 8 + 128 / 32));
  EXPECT_EQ(to_json(tables)[1]["pkeys"], (nlohmann::json{{"0", "0xffff"}}));
  EXPECT_NE(to_text(tables).find("tables 2   GIDs fe80:0000:0000:0000:0002:c903:"),
            std::string::npos)
      << to_text(tables);
}

TEST_F(address_tables, are_those_of_infiniband_ports) {
  in_process::machine_options how;
  how.model.link[0] = model::link_layer::ethernet;
  read(how);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].port, 2u);
}

}  // namespace
}  // namespace freehca::description
