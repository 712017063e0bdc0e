// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Runs of the hostile guest in which the adapter's state is saved and loaded into new parts, at
// calls drawn by chance. Each ends as the same run without that: in all that the adapter did to its
// host, in its counters and in the digest of its state. The runs are those of stored inputs, and
// COUNT that are made of them by chance.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include <freehca/model/device.hpp>

#include "inputs.hpp"
#include "run.hpp"

namespace freehca::fuzz {
namespace {

using model::device;

/// A stored input in which some bytes are changed, and another one follows.
stored_input mix(const std::vector<stored_input>& from, std::mt19937_64& random) {
  const auto drawn = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  stored_input made = from[drawn(from.size())];
  made.bytes += from[drawn(from.size())].bytes;
  made.bytes.resize(std::min<std::size_t>(made.bytes.size(), 512));
  for (std::size_t changes = drawn(16); changes != 0 && !made.bytes.empty(); --changes)
    made.bytes[drawn(made.bytes.size())] = static_cast<char>(random());
  return made;
}

/// Whether the run ends in the same way with reloads.
bool ends_alike(const stored_input& i, std::uint64_t seed) {
  device::reload_at_one_of(0, 0);
  const std::uint64_t wanted = outcome(i.data(), i.size());
  const auto one_of = static_cast<std::uint32_t>(2 + seed % 60);
  device::reload_at_one_of(one_of, seed);
  const std::uint64_t found = outcome(i.data(), i.size());
  if (found == wanted) return true;
  std::printf("%s ends otherwise with a reload at one of %u calls, drawn by %llu\n", i.name.c_str(),
              one_of, static_cast<unsigned long long>(seed));
  return false;
}

}  // namespace
}  // namespace freehca::fuzz

int main(int argc, char** argv) {
  using namespace freehca::fuzz;
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s COUNT SEED|- FOLDER|CORPUS...\n", argv[0]);
    return EXIT_FAILURE;
  }
  const unsigned long count = std::stoul(argv[1]);
  const bool is_drawn = std::string(argv[2]) == "-";
  const std::uint64_t seed = is_drawn ? std::random_device{}() : std::stoull(argv[2]);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const auto stored = read_inputs(argc - 3, argv + 3);
  std::mt19937_64 random(seed);
  unsigned long different = 0;
  for (const stored_input& i : stored) different += !ends_alike(i, random());
  for (unsigned long n = 0; n < count; ++n) different += !ends_alike(mix(stored, random), random());
  const device::reload_counts reloads = device::reloads();
  std::printf("%zu stored inputs and %lu more, %llu reloads: %lu end otherwise, %llu refused\n",
              stored.size(), count, static_cast<unsigned long long>(reloads.done), different,
              static_cast<unsigned long long>(reloads.refused));
  return different == 0 && reloads.refused == 0 && reloads.done > stored.size() ? EXIT_SUCCESS
                                                                                : EXIT_FAILURE;
}
