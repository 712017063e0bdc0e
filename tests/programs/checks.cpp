// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "checks.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace programs {

namespace {

std::string name_of_test = "start";
unsigned failed = 0;

std::int64_t seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

}  // namespace

void set_test_name(const std::string& name) {
  name_of_test = name;
}

bool expect(bool holds, const std::string& what) {
  if (holds) return true;
  ++failed;
  std::fprintf(stderr, "FAIL %s (process %d): %s\n", name_of_test.c_str(), getpid(), what.c_str());
  return false;
}

bool expect_equal(std::int64_t found, std::int64_t expected, const std::string& what) {
  return expect(found == expected, what + ": found " + std::to_string(found) + ", expected " +
                                       std::to_string(expected));
}

void require(bool holds, const std::string& what) {
  if (holds) return;
  const int error = errno;
  expect(false, what + " (errno: " + std::strerror(error) + ")");
  _exit(2);
}

unsigned failures() {
  return failed;
}

void end_child() {
  std::fflush(nullptr);
  _exit(failed == 0 ? 0 : 1);
}

std::uint64_t next_random(std::uint64_t& seed) {
  // SplitMix64 (Steele, Lea, Flood, 2014).
  std::uint64_t mixed = seed += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

std::vector<unsigned char> pattern(std::uint64_t seed, std::size_t bytes) {
  std::vector<unsigned char> made(bytes);
  for (unsigned char& place : made) place = static_cast<unsigned char>(next_random(seed));
  return made;
}

void wait_until(const std::function<bool()>& done, const std::string& what) {
  constexpr int longest_wait = 60;
  const std::int64_t last = seconds() + longest_wait;
  while (!done()) {
    errno = ETIMEDOUT;
    require(seconds() <= last, what);
    sched_yield();
  }
}

int run_tests(int count, char** words, const std::vector<test>& tests) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::uint64_t seed = static_cast<std::uint64_t>(now.tv_nsec) ^ static_cast<unsigned>(getpid());
  std::vector<const test*> chosen;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--list") {
      for (const test& t : tests) std::puts(t.name.c_str());
      return 0;
    }
    if (word == "--seed" && i + 1 < count) {
      seed = std::strtoull(words[++i], nullptr, 0);
      continue;
    }
    const std::size_t before = chosen.size();
    for (const test& t : tests)
      if (t.name == word) chosen.push_back(&t);
    if (chosen.size() == before) {
      std::fprintf(stderr, "no test has the name %s\n", word.c_str());
      return 2;
    }
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (const test* t : chosen) {
    set_test_name(t->name);
    t->run(seed);
  }
  if (chosen.empty()) std::fputs("no test was named\n", stderr);
  return failed != 0 ? 1 : chosen.empty() ? 2 : 0;
}

}  // namespace programs
