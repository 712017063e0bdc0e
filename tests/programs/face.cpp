// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "face.hpp"

using namespace programs;

int main(int count, char** words) {
  std::vector<test> tests;
  for (const auto& some :
       {fork_tests(), channel_tests(), queue_tests(), memory_tests(), signal_tests(),
        thread_tests(), mended_tests(), refusal_tests(), window_tests(), extended_tests()})
    tests.insert(tests.end(), some.begin(), some.end());
  return run_tests(count, words, tests);
}
