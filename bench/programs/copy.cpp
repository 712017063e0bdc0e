// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_copy BYTES MIB: prints how many bytes a second memcpy() copies in pieces of BYTES:
// between the same two buffers each time, then from one half of MIB megabytes to the other, each
// buffer once a round. Each figure is of the median of its copies.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

double rate(std::vector<std::byte>& memory, std::size_t bytes, std::size_t buffers,
            unsigned rounds) {
  std::vector<double> times;
  std::byte* const from = memory.data();
  std::byte* const to = from + buffers * bytes;
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < buffers; ++i) {
      const auto begin = clock_type::now();
      std::memcpy(to + i * bytes, from + i * bytes, bytes);
      asm volatile("" : : "r"(to) : "memory");
      times.push_back(std::chrono::duration<double>(clock_type::now() - begin).count());
    }
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(bytes) / *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const std::size_t all = argc == 3 ? std::strtoull(argv[2], nullptr, 10) << 20 : 0;
  if (bytes == 0 || all < 2 * bytes) {
    std::fprintf(stderr, "usage: %s BYTES MIB\n", argv[0]);
    return 2;
  }
  std::vector<std::byte> memory(all, std::byte{1});  // each page is written before the first copy
  std::printf("hot %.0f\n", rate(memory, bytes, 1, 500));
  std::printf("cold %.0f\n", rate(memory, bytes, all / 2 / bytes, 2));
  return 0;
}
