// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each call of cache.hpp in the source counts: on a machine whose adapter does not see the cache
// the scenarios pass with all of them, and without any one of them a scenario finds out.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "scenarios.hpp"

namespace freehca::testing {
namespace {

using in_process::processor_cache;
using site = processor_cache::site;

constexpr const char* rooms[] = {"hal", "firmware_cmds", "queues",           "work_requests",
                                 "hca", "faces",         "loopback_traffic", "conformance"};

/// The site with its file as the checkout names it; empty for one in the tests. Compilers are given
/// whole paths, or paths from the folder of the build.
site in_checkout(const site& from) {
  const std::filesystem::path file(from.file);
  for (auto part = file.begin(); part != file.end(); ++part)
    for (const char* room : rooms) {
      if (*part != room) continue;
      std::filesystem::path name;
      for (auto rest = part; rest != file.end(); ++rest) name /= *rest;
      if (std::filesystem::exists(std::filesystem::path(FREEHCA_SOURCE_DIR) / name))
        return {name.generic_string(), from.line};
    }
  return {};
}

struct account {
  std::set<site> passed;
  std::vector<std::string> findings;
};

account run(const scenario& what, const site& without = {}) {
  account all;
  what.run({[&without](processor_cache& c) { c.leave_out(without); },
            [&all](processor_cache& c) {
              all.passed.insert(c.passed().begin(), c.passed().end());
              all.findings.insert(all.findings.end(), c.findings().begin(), c.findings().end());
            }});
  return all;
}

/// What a scenario finds without this call; in a process of its own, whose expectations may fail.
std::string found_without(const scenario& what, const site& without) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {};
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    if (freopen("/dev/null", "w", stdout) == nullptr ||
        freopen("/dev/null", "w", stderr) == nullptr)
      _exit(1);
    // The first finding is enough: what comes of it is of no interest, and may take long.
    const auto tell = [to = pipe_ends[1]](const std::string& finding) {
      _exit(write(to, finding.data(), finding.size()) < 0);
    };
    what.run({[&](processor_cache& c) {
                c.leave_out(without);
                c.on_finding = tell;
              },
              [](processor_cache&) {}});
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  std::array<char, 256> piece;
  for (ssize_t n; (n = read(pipe_ends[0], piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int ended = 0;
  waitpid(child, &ended, 0);
  return text;
}

std::set<site> written() {
  std::set<site> all;
  for (const char* room : rooms)
    for (const auto& file : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(FREEHCA_SOURCE_DIR) / room)) {
      if (!file.is_regular_file() || file.path().extension() == ".md" ||
          file.path().generic_string().find("/targets/") != std::string::npos)
        continue;
      std::ifstream in(file.path());
      std::string text;
      for (unsigned line = 1; std::getline(in, text); ++line) {
        const std::size_t comment = text.find("//");
        for (const char* call : {"cache::clean(", "cache::invalidate("})
          if (const std::size_t at = text.find(call); at != std::string::npos && at < comment)
            all.insert(in_checkout({file.path().string(), line}));
      }
    }
  return all;
}

TEST(cache, nothing_is_missing_and_the_scenarios_pass_every_call_in_the_source) {
  std::set<site> passed;
  for (const scenario& s : scenarios()) {
    const account a = run(s);
    EXPECT_TRUE(a.findings.empty()) << s.name << ": " << a.findings.front();
    for (const site& each : a.passed) passed.insert(in_checkout(each));
  }
  passed.erase(site{});
  EXPECT_FALSE(passed.empty());
  EXPECT_EQ(passed.size(), written().size());
  for (const site& each : written())
    EXPECT_TRUE(passed.contains(each)) << each.file << ":" << each.line << ": no scenario comes by";
}

TEST(cache, each_call_is_missed) {
  std::set<site> passed;
  std::vector<std::pair<const scenario*, std::set<site>>> by_scenario;
  for (const scenario& s : scenarios()) by_scenario.emplace_back(&s, run(s).passed);
  for (const auto& [what, sites] : by_scenario)
    for (const site& each : sites)
      if (in_checkout(each) != site{}) passed.insert(each);
  for (const site& each : passed) {
    std::string who;
    // The cheap scenarios first.
    for (auto i = by_scenario.rbegin(); i != by_scenario.rend() && who.empty(); ++i)
      if (i->second.contains(each))
        if (const std::string found = found_without(*i->first, each); !found.empty())
          who = std::string(i->first->name) + ": " + found;
    const site where = in_checkout(each);
    std::cout << where.file << ":" << where.line << ": " << (who.empty() ? "nobody misses it" : who)
              << "\n";
    EXPECT_FALSE(who.empty()) << where.file << ":" << where.line;
  }
}

}  // namespace
}  // namespace freehca::testing
