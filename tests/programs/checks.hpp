// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace programs {

/// Prints what the test is doing when a check fails. One for each process.
void set_test_name(const std::string& name);

/// Counts a failure and prints it, unless the condition holds. Returns the condition.
bool expect(bool holds, const std::string& what);
/// The same for two numbers, which are printed.
bool expect_equal(std::int64_t found, std::int64_t expected, const std::string& what);
/// Ends the process at once, with the failure and errno printed, unless the condition holds.
void require(bool holds, const std::string& what);
/// The failures of this process so far.
unsigned failures();
/// Ends the process without its exit functions, with the status of the checks.
[[noreturn]] void end_child();

/// Bytes that depend on the seed and on the offset alone.
std::vector<unsigned char> pattern(std::uint64_t seed, std::size_t bytes);
/// The next number of a sequence that depends on the seed alone.
std::uint64_t next_random(std::uint64_t& seed);

/// Calls `done` until it returns true. Ends the process after a minute, which means a hang.
void wait_until(const std::function<bool()>& done, const std::string& what);

struct test {
  std::string name;
  std::function<void(std::uint64_t seed)> run;
};
/// PROGRAM --list prints the names. PROGRAM [--seed N] NAME... runs the tests of these names.
/// Returns the exit status.
int run_tests(int count, char** words, const std::vector<test>& tests);

}  // namespace programs
