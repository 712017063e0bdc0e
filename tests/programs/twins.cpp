// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two processes: requests that arrive, and twins of them that have to be refused. One test for each
// kind of request.
#include <algorithm>

#include "checks.hpp"
#include "twin_sides.hpp"

using namespace programs;

namespace {

void run_kind(const std::string& kind, std::uint64_t seed) {
  std::vector<twin> cases = twins();
  std::erase_if(cases, [&](const twin& t) { return t.name.rfind(kind + ".", 0) != 0; });
  const auto each = [&](auto run) {
    std::uint64_t next = seed;
    for (const twin& t : cases) {
      set_test_name(t.name);
      run(t, next_random(next));
    }
  };
  run_pair(
      [&](line& other) {
        opened_device device;
        endpoint fence(device, {});
        fence.connect(other);
        other.meet();
        each([&](const twin& t, std::uint64_t of_case) { run_target(device, other, t, of_case); });
      },
      [&](line& other) {
        opened_device device;
        endpoint fence(device, {});
        fence.connect(other);
        other.meet();
        each([&](const twin& t, std::uint64_t of_case) {
          run_requester(device, other, fence, t, of_case);
        });
      });
}

}  // namespace

int main(int count, char** words) {
  std::vector<test> tests;
  for (const twin& t : twins()) {
    const std::string kind = t.name.substr(0, t.name.find('.'));
    if (!tests.empty() && tests.back().name == kind) continue;
    tests.push_back({kind, [kind](std::uint64_t seed) { run_kind(kind, seed); }});
  }
  return run_tests(count, words, tests);
}
