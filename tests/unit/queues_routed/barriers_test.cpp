// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every barrier of the rings and of the command channel is needed. With all barriers no scenario
// finds a fault. If one barrier is ignored, some scenario finds a fault. The barriers are read from
// the source, so no list of them is kept here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "scenario.hpp"

namespace freehca::queues {
namespace {

using namespace freehca::testing;

std::vector<scenario> scenarios() {
  std::vector<scenario> all;
  for (const scenario_list part : {send_scenarios(), receive_scenarios(), completion_scenarios(),
                                   event_scenarios(), command_scenarios()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The complaints of all scenarios when the barriers in `without` are ignored.
std::string complaints(machine target, const barrier_sites& without) {
  std::string all;
  for (const scenario& s : scenarios()) {
    barrier_sites passed;
    const std::string wrong = s.run({target, without}, passed);
    if (!wrong.empty()) all += std::string("\n    ") + s.name + ": " + wrong;
  }
  return all;
}
barrier_sites all_passed(machine target) {
  barrier_sites passed;
  for (const scenario& s : scenarios()) EXPECT_EQ(s.run({target, {}}, passed), "") << s.name;
  return passed;
}

TEST(barriers, the_scenarios_pass_every_one_in_the_source) {
  barrier_sites written;
  for (const char* library : {"queues", "work_requests", "firmware_cmds"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(FREEHCA_SOURCE_DIR) / library)) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path());
      std::string text;
      for (unsigned line = 1; std::getline(in, text); ++line) {
        const std::size_t call = text.find("barrier::"), comment = text.find("//");
        if (call == std::string::npos || comment < call) continue;
        const std::string path =
            std::filesystem::relative(file.path(), FREEHCA_SOURCE_DIR).generic_string();
        written.insert({path, line});
      }
    }
  const barrier_sites passed = all_passed(machine::as_promised);
  EXPECT_FALSE(written.empty());
  for (const barrier_site& site : written)
    EXPECT_TRUE(passed.contains(site)) << site.text() << ": no scenario comes by";
  for (const barrier_site& site : passed) EXPECT_TRUE(written.contains(site)) << site.text();
}

TEST(barriers, none_can_be_missed) {
  for (const barrier_site& site : all_passed(machine::as_promised)) {
    const std::string found = complaints(machine::as_promised, {site});
    std::cout << site.text() << (found.empty() ? ": no scenario misses it" : found) << "\n";
    EXPECT_FALSE(found.empty()) << site.text();
  }
}

// An instruction of aarch64 may order more than its barrier promises. A barrier can therefore be
// redundant because of a neighbour in its file. Then some scenario must find a fault if both are
// ignored.
TEST(barriers, on_aarch64_none_can_be_missed_but_for_a_neighbour) {
  barrier_sites spared;
  for (const barrier_site& site : all_passed(machine::aarch64))
    if (complaints(machine::aarch64, {site}).empty()) spared.insert(site);
  for (const barrier_site& site : spared) {
    const bool stood_in_for =
        std::any_of(spared.begin(), spared.end(), [&](const barrier_site& other) {
          return other.file == site.file && !complaints(machine::aarch64, {site, other}).empty();
        });
    std::cout << site.text() << ": a neighbour does its work on aarch64\n";
    EXPECT_TRUE(stood_in_for) << site.text();
  }
}

}  // namespace
}  // namespace freehca::queues
