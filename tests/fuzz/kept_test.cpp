// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An input does on a kept machine what it does on a new one, whatever the machine was used for
// before: else a finding could not be replayed. Runs the inputs (inputs.hpp) on kept machines
// forwards, on new ones, and on the kept ones backwards. Kept machines come first: what code keeps
// for good from its first run would else be there already, outside of what a reset takes back.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inputs.hpp"
#include "kept_targets.hpp"

namespace {

using freehca::fuzz::arena, freehca::fuzz::kept_targets;

struct sample {
  freehca::fuzz::stored_input input;
  std::uint64_t trace = 0;
};

unsigned wrong = 0;

void expect(bool right, const char* what, const std::string& where) {
  if (right) return;
  std::printf("%s: %s\n", where.c_str(), what);
  ++wrong;
}

// What is changed, freed and added after seal() is as before after restore().
void check_arena() {
  arena a;
  std::byte* large = nullptr;
  std::string* text = nullptr;
  {
    const arena::within inside(a);
    large = static_cast<std::byte*>(std::calloc(1 << 20, 1));
    text = new std::string(100, 'a');
  }
  expect(arena::of(large) == &a && arena::of(text->data()) == &a, "not in the arena", "arena");
  large[5] = std::byte{7};
  a.seal();
  const std::size_t before = a.bytes();
  for (unsigned round = 0; round < 3; ++round) {
    {
      const arena::within inside(a);
      std::memset(large, 1, std::size_t{1} << 20);
      (*text)[3] = 'b';
      delete text;
      auto* more = new std::string(5000, 'c');
      expect(a.bytes() > before, "nothing was added", "arena");
      static_cast<void>(more);
    }
    a.restore();
    expect(large[4] == std::byte{0} && large[5] == std::byte{7} &&
               large[(1 << 20) - 1] == std::byte{0},
           "memory is not as before", "arena");
    expect(*text == std::string(100, 'a'), "an object is not as before", "arena");
    expect(a.bytes() == before, "what was added is still there", "arena");
    expect(a.pages_saved() >= (1u << 20) / 4096, "pages were not saved", "arena");
  }
}

// Far more is given out and freed than the arena has, as when an input keeps a machine busy.
void check_busy_arena() {
  arena a;
  const arena::within inside(a);
  auto* kept = new std::string(100, 'a');
  a.seal();
  for (unsigned round = 0; round < 2; ++round) {
    for (std::size_t given = 0; given < 2 * arena::most_bytes; given += 4200) {
      const auto block = std::make_unique<std::vector<std::byte>>(4200);
      expect(block->back() == std::byte{0}, "not as it was made", "busy arena");
    }
    expect(a.bytes() < arena::most_bytes * 3 / 4, "what was freed is not used", "busy arena");
    expect(*kept == std::string(100, 'a'), "an object is not as before", "busy arena");
    a.restore();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER|CORPUS...\n", argv[0]);
    return EXIT_FAILURE;
  }
  check_arena();
  check_busy_arena();
  std::vector<sample> samples;
  std::set<std::uint64_t> traces;
  for (auto& input : freehca::fuzz::read_inputs(argc - 1, argv + 1))
    samples.push_back({std::move(input)});
  kept_targets kept;
  for (sample& s : samples) s.trace = kept.traced(s.input.data(), s.input.size());
  const auto check = [](const sample& s, std::uint64_t trace) {
    expect(trace == s.trace, "another trace on a kept machine", s.input.name);
  };
  for (const sample& s : samples) {
    check(s, freehca::fuzz::run(s.input.data(), s.input.size()));
    traces.insert(s.trace);
  }
  // Else the comparison could not fail. Some inputs say the same by other bytes.
  expect(samples.size() > 1 && traces.size() > samples.size() * 3 / 4, "traces do not differ",
         "inputs");
  for (auto s = samples.rbegin(); s != samples.rend(); ++s)
    check(*s, kept.traced(s->input.data(), s->input.size()));
  std::printf("%zu inputs, %u differences\n", samples.size(), wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
