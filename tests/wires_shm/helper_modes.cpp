// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The modes of a test's other processes. A mode ends when its standard input ends.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <thread>

#include "fabric_layout.hpp"
#include "helper_process.hpp"
#include "packets.hpp"

namespace freehca::wires {
namespace {

using shm::control_part;

constexpr std::uint16_t group = 0xc123;
constexpr std::uint64_t short_sleep = 1'000'000;

bool input_ended() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

int failed(const std::string& why) {
  std::printf("failed: %s\n", why.c_str());
  std::fflush(stdout);
  return 1;
}

std::unique_ptr<fabric_port> join(const std::string& name) {
  std::string why;
  auto port = fabric_port::join(name, why);
  if (port == nullptr) {
    failed(why);
    return port;
  }
  std::printf("lid %u slot %u\n", unsigned{port->lid()}, port->slot());
  std::fflush(stdout);
  return port;
}

// Has a port on an Ethernet fabric with this IPv4 address until the input ends.
int stay_on_ethernet(const std::string& name, const std::string& address) {
  join_request how{link_layer::ethernet, {}, true};
  how.address[10] = how.address[11] = 0xff;
  if (inet_pton(AF_INET, address.c_str(), how.address.data() + 12) != 1) return 2;
  std::string why;
  const auto port = fabric_port::join(name, why, how);
  if (port == nullptr) return failed(why);
  std::printf("joined\n");
  std::fflush(stdout);
  char c;
  return read(0, &c, 1) == 0 ? 0 : 1;
}

// Wakes the port for good once the input has ended.
struct input_watch {
  explicit input_watch(fabric_port& port)
      : thread([this, &port] {
          char c;
          while (read(0, &c, 1) > 0) {
          }
          ended = true;
          port.wake();
        }) {}
  ~input_watch() { thread.join(); }
  std::atomic<bool> ended{false};
  std::thread thread;
};

void send_all(fabric_port& port, std::span<const std::byte> bytes, const input_watch& watch) {
  while (!port.send(bytes.data(), bytes.size()))
    while (!port.has_room_again() && !watch.ended) port.sleep(fabric_port::no_timeout);
}

// Sends each packet back. Sleeps without a timeout.
int echo(const std::string& name) {
  const auto port = join(name);
  if (port == nullptr) return 1;
  input_watch watch(*port);
  while (!watch.ended) {
    const auto got = port->receive();
    if (got.empty()) {
      port->sleep(fabric_port::no_timeout);
      continue;
    }
    if (!is_whole(got) || dlid_of(got) != port->lid()) return failed("a wrong packet");
    const auto back = packet(slid_of(got), port->lid(), number_of(got), got.size());
    port->release();
    send_all(*port, back, watch);
  }
  return 0;
}

// Takes this many packets and checks their order. Sleeps without a timeout.
int drain(const std::string& name, std::uint32_t wanted) {
  const auto port = join(name);
  if (port == nullptr) return 1;
  for (std::uint32_t number = 0; number < wanted;) {
    const auto got = port->receive();
    if (got.empty()) {
      port->sleep(fabric_port::no_timeout);
      continue;
    }
    if (!is_whole(got) || number_of(got) != number) return failed("a wrong packet");
    ++number;
    port->release();
  }
  std::printf("done\n");
  std::fflush(stdout);
  char c;
  return read(0, &c, 1) == 0 ? 0 : 1;
}

// The work of each live process in the kill test: packets to a group, answers to the senders, and a
// look at each packet. A LID that is used again by a later process would break the order of
// numbers.
struct talker {
  explicit talker(fabric_port& to) : port(to) {}

  std::string check(std::span<const std::byte> got) {
    if (got.size() < 16 || !is_whole(got)) return "a packet was changed";
    if (dlid_of(got) != port.lid() && dlid_of(got) != group) return "a packet of another LID";
    if (slid_of(got) == port.lid()) return "its own packet";
    std::uint32_t& last = seen[slid_of(got)];
    if (number_of(got) <= last) return "a packet twice, or late";
    last = number_of(got);
    return "";
  }
  std::string step(std::mt19937& random) {
    if (next.empty()) {
      const unsigned to =
          seen.empty() || random() % 4 == 0
              ? group
              : std::next(seen.begin(), static_cast<std::ptrdiff_t>(random() % seen.size()))->first;
      next = packet(to, port.lid(), ++number, 16 + random() % 2048);
    }
    if (port.send(next.data(), next.size())) next.clear();
    for (unsigned i = 0; i < 8; ++i) {
      const auto got = port.receive();
      if (got.empty()) break;
      if (std::string why = check(got); !why.empty()) return why;
      port.release();
    }
    return "";
  }

  fabric_port& port;
  std::map<unsigned, std::uint32_t> seen;  ///< by LID: the last number
  std::uint32_t number = 0;
  std::vector<std::byte> next;
};

int talk(const std::string& name, bool with_child) {
  const auto port = join(name);
  if (port == nullptr) return 1;
  port->join_group(group);
  if (with_child) {
    const pid_t child = fork();
    if (child == 0) {
      // The child uses the fabric no more, and keeps the descriptor and the memory.
      alarm(300);
      while (port->receive().empty()) sleep(1);
      _exit(0);
    }
    std::printf("child %d\n", child);
    std::fflush(stdout);
  }
  std::mt19937 random(static_cast<std::uint32_t>(getpid()));
  talker talks(*port);
  while (!input_ended()) {
    for (unsigned i = 0; i < 64; ++i)
      if (const std::string why = talks.step(random); !why.empty()) return failed(why);
    if (random() % 4 == 0) port->sleep(short_sleep);
  }
  const fabric_faults faults = port->faults();
  if (faults.rings_reset + faults.bad_lengths + faults.without_memory != 0) return failed("faults");
  return 0;
}

// Whether this process has a file open whose name is gone.
bool has_nameless_file() {
  for (int i = 0; i < 64; ++i) {
    char to[512];
    const ssize_t n = readlink(("/proc/self/fd/" + std::to_string(i)).c_str(), to, sizeof to);
    if (n > 0 && std::string(to, static_cast<std::size_t>(n)).ends_with(" (deleted)")) return true;
  }
  return false;
}

// Joins and leaves. A port of a file without a name would be alone for good.
int join_often(const std::string& name, unsigned times) {
  std::string why;
  for (unsigned i = 0; i < times; ++i) {
    const auto port = fabric_port::join(name, why);
    if (port == nullptr) return failed(why);
    if (has_nameless_file()) return failed("joined a fabric that was removed");
  }
  return 0;
}

// Writes over the file at random until the input ends: over all of it, or over rings alone.
int scribble(const std::string& name, std::uint32_t seed, bool rings_alone) {
  const int file = open(path_of(name).c_str(), O_RDWR | O_CLOEXEC);
  void* at = mmap(nullptr, static_cast<std::size_t>(shm::file_bytes), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) return failed("no mapping");
  auto* bytes = static_cast<std::byte*>(at);
  auto& control = *static_cast<control_part*>(at);
  std::printf("scribbles\n");
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  const auto write = [&](void* to) {
    // Values near those that make sense find more than others.
    auto* word = static_cast<std::atomic<std::uint64_t>*>(to);
    const std::uint64_t old = word->load();
    switch (random() % 4) {
      case 0:
        word->store(random());
        break;
      case 1:
        word->store(old + random() % 4096);
        break;
      case 2:
        word->store(old ^ std::uint64_t{1} << random() % 64);
        break;
      default:
        word->store(old - random() % 4096);
        break;
    }
  };
  while (!input_ended())
    for (unsigned i = 0; i < 256; ++i) {
      const auto consumer = static_cast<unsigned>(random() % 3);
      const auto producer = static_cast<unsigned>(random() % 3);
      auto& ring = control.rings[consumer][producer];
      const std::size_t where = random() % 8;
      if (where < 2) write(&ring.head);
      else if (where < 4) write(&ring.tail);
      else if (where < 7)
        write(bytes + shm::ring_offset(consumer, producer) + random() % (shm::ring_bytes / 8) * 8);
      else if (!rings_alone) write(bytes + 16 + random() % (shm::control_bytes / 8 - 2) * 8);
    }
  return 0;
}

}  // namespace

int run_helper(const std::vector<std::string>& words) {
  const std::string& mode = words[0];
  const std::string& name = words[1];
  const auto number = [&] { return static_cast<unsigned>(std::stoul(words[2])); };
  if (mode == "echo") return echo(name);
  if (mode == "stay-on-ethernet") return stay_on_ethernet(name, words[2]);
  if (mode == "drain") return drain(name, number());
  if (mode == "talk") return talk(name, false);
  if (mode == "talk-and-fork") return talk(name, true);
  if (mode == "join-often") return join_often(name, number());
  if (mode == "scribble-rings") return scribble(name, number(), true);
  if (mode == "scribble") return scribble(name, number(), false);
  return 2;
}

}  // namespace freehca::wires
