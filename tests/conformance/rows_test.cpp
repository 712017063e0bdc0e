// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list on the modelled adapter, row for row.
#include <cstdlib>
#include <fstream>
#include <set>

#include "conformance_rig.hpp"

namespace freehca::conformance {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& l : lines) all += l + "\n";
  return all;
}

std::string file(const std::string& name) {
  std::ifstream in(name);
  return {std::istreambuf_iterator<char>(in), {}};
}

class rows : public ::testing::TestWithParam<bool> {
 protected:
  static in_process::machine_options machine(model::variant v) {
    in_process::machine_options o;
    o.model.kind = v;
    o.model.strict = GetParam();
    return o;
  }
};

/// No row differs, the model complains of none, and nothing is left.
told all_as_expected(const in_process::machine_options& how) {
  conformance_rig rig(how);
  told all = rig.run();
  EXPECT_TRUE(all.sum.ended.ok()) << blocking::words(all.sum.ended) << "\n" << all.rows.back();
  EXPECT_EQ(joined(all.differing), "");
  EXPECT_EQ(joined(all.complaints), "");
  EXPECT_EQ(all.sum.rows(), count_rows());
  EXPECT_TRUE(rig.driver.tear_down().ok());
  EXPECT_TRUE(rig.driver.adapter().hardware().holdings().none());
  return all;
}

TEST_P(rows, are_as_expected_on_connectx3_pro) {
  const told all = all_as_expected(machine(model::variant::connectx3_pro));
  EXPECT_GE(all.sum.as_expected, 150u);
  EXPECT_LE(all.sum.not_applicable, 12u)
      << "the type of ports is not sensed; ten rows are of adapters of one port";
  // The same file is what images, and hcactl over VFIO, are compared with.
  if (std::getenv("FREEHCA_WRITE_ROWS") != nullptr)
    std::ofstream(CONFORMANCE_ROWS) << joined(all.rows);
  EXPECT_EQ(joined(all.rows), file(CONFORMANCE_ROWS))
      << "if that is meant: FREEHCA_WRITE_ROWS=1 freehca_conformance_tests";
}

TEST_P(rows, are_as_expected_on_connectx3) {
  EXPECT_GE(all_as_expected(machine(model::variant::connectx3)).sum.as_expected, 150u);
}

TEST_P(rows, are_as_expected_on_connectx2) {
  EXPECT_GE(all_as_expected(machine(model::variant::connectx2)).sum.as_expected, 150u);
}

TEST_P(rows, of_one_port_are_asked_of_an_adapter_of_one_port) {
  in_process::machine_options how = machine(model::variant::connectx3_pro);
  how.model.ports = 1;
  EXPECT_LE(all_as_expected(how).sum.not_applicable, 2u) << "the type of ports is not sensed";
}

INSTANTIATE_TEST_SUITE_P(of, rows, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "strict" : "lenient"; });

TEST(rows, have_names_of_their_own_and_say_what_and_why) {
  std::set<std::string> names;
  for (const row_group* group : all_rows()) {
    EXPECT_NE(std::string(group->about), "");
    for (unsigned i = 0; i < group->count; ++i) {
      const row& r = group->at(i);
      EXPECT_TRUE(names.insert(std::string(group->name) + "/" + r.name).second) << r.name;
      EXPECT_NE(std::string(r.what), "");
      EXPECT_NE(std::string(r.source), "");
    }
  }
  EXPECT_EQ(names.size(), count_rows());
}

TEST(rows, name_rules_that_the_page_on_strictness_has) {
  const std::string page = file(CONFORMANCE_DOCS "/strictness.md");
  unsigned rules = 0;
  for (const row_group* group : all_rows()) {
    for (unsigned i = 0; i < group->count; ++i) {
      const std::string source = group->at(i).source;
      if (source.rfind("rule ", 0) != 0) continue;
      ++rules;
      const std::string rule = source.substr(5, source.find(':') - 5);
      EXPECT_NE(page.find("| " + rule + ": "), std::string::npos) << group->at(i).name;
      EXPECT_EQ(page.find("| " + rule + ": no source"), std::string::npos) << rule;
    }
  }
  EXPECT_GE(rules, 100u);
}

TEST(rows, are_counted_on_the_page_on_conformance) {
  const std::string page = file(CONFORMANCE_DOCS "/conformance.md");
  for (const row_group* group : all_rows())
    EXPECT_NE(
        page.find("| `" + std::string(group->name) + "` | " + std::to_string(group->count) + " |"),
        std::string::npos)
        << group->name << " has " << group->count << " rows";
}

}  // namespace
}  // namespace freehca::conformance
