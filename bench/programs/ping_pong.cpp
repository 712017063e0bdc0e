// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_ping_pong ping|pong FILE TURNS: two processes hand a message of 64 bytes to and fro
// through a memory-mapped FILE of 4096 bytes, and each polls for it. "ping" prints half a round
// trip, in nanoseconds: the median of groups of 10. TURNS is at least 10.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// A message of 64 bytes, whose last word is written last.
struct alignas(64) message {
  std::uint64_t body[7];
  std::atomic<std::uint64_t> number;
};
static_assert(sizeof(message) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

struct mailboxes {
  message to_pong;
  std::byte unused[64];  // the processor may fetch lines in pairs
  message to_ping;
};

void send(message& box, std::uint64_t number) {
  for (std::uint64_t& word : box.body) word = number;
  box.number.store(number, std::memory_order_release);
}

/// False: the body is not that of this message.
bool receive(const message& box, std::uint64_t number) {
  while (box.number.load(std::memory_order_acquire) != number) continue;
  return std::all_of(std::begin(box.body), std::end(box.body),
                     [=](std::uint64_t word) { return word == number; });
}

bool ping(mailboxes& boxes, std::uint64_t turns) {
  // A look at the clock takes a good part of a round trip.
  constexpr std::uint64_t turns_a_look = 10;
  using clock = std::chrono::steady_clock;
  std::vector<std::int64_t> times;
  times.reserve(turns / turns_a_look);
  auto begin = clock::now();
  for (std::uint64_t i = 1; i <= turns; ++i) {
    send(boxes.to_pong, i);
    if (!receive(boxes.to_ping, i)) return false;
    if (i % turns_a_look != 0) continue;
    const auto now = clock::now();
    times.push_back(std::chrono::nanoseconds(now - begin).count());
    begin = now;
  }
  if (times.empty()) return false;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::printf("%.1f\n", static_cast<double>(*middle) / (2 * turns_a_look));
  return true;
}

bool pong(mailboxes& boxes, std::uint64_t turns) {
  for (std::uint64_t i = 1; i <= turns; ++i) {
    if (!receive(boxes.to_pong, i)) return false;
    send(boxes.to_ping, i);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc == 4 ? argv[1] : "";
  const std::uint64_t turns = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if ((role != "ping" && role != "pong") || turns < 10) {
    std::fprintf(stderr, "usage: %s ping|pong FILE TURNS\n", argv[0]);
    return 2;
  }
  const int file = open(argv[2], O_RDWR | O_CLOEXEC);
  void* const memory =
      file < 0 ? MAP_FAILED
               : mmap(nullptr, sizeof(mailboxes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    std::perror(argv[2]);
    return 1;
  }
  mailboxes& boxes = *static_cast<mailboxes*>(memory);
  const bool right = role == "ping" ? ping(boxes, turns) : pong(boxes, turns);
  if (!right) std::fprintf(stderr, "%s: a message is not what was sent\n", role.c_str());
  return right ? 0 : 1;
}
