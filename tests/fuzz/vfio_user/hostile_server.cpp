// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The client that our driver stands on, and a server that says anything: each request ends, with an
// answer of the size that was asked for or with an errno.
#include <algorithm>
#include <vector>

#include <freehca/vfio_user/client.hpp>

#include "conversation.hpp"

namespace freehca::fuzz {

using namespace vfio_user;

namespace {

constexpr unsigned most_messages = 64, most_requests = 16;
constexpr std::uint16_t first_request = 1;

struct page final : served_memory {
  bool read(std::uint64_t address, std::span<std::byte> to) override {
    if (address >= all.size() || to.size() > all.size() - address) return false;
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(address), to.size(), to.begin());
    return true;
  }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    if (address >= all.size() || from.size() > all.size() - address) return false;
    std::copy(from.begin(), from.end(), all.begin() + static_cast<std::ptrdiff_t>(address));
    return true;
  }
  std::vector<std::byte> all = std::vector<std::byte>(4096);
};

int ask(client& c, unsigned what) {
  device_info device{};
  region_info region{};
  irq_info irq{};
  std::vector<std::byte> data(what >> 4);
  switch (what & 7) {
    case 0:
      return c.negotiate();
    case 1:
      return c.describe(device);
    case 2:
      return c.describe(region);
    case 3:
      return c.describe(irq);
    case 4:
      return c.read(0, what, data);
    case 5:
      return c.write(0, what, data);
    case 6:
      return c.map(0x1000, 0x1000, -1);
    default:
      return c.reset();
  }
}

}  // namespace

void try_input(input from) {
  connection both;
  said server(both.hostile.get());
  std::vector<std::uint8_t> asked;
  for (unsigned i = from.byte() % most_requests + 1; i > 0; --i) asked.push_back(from.byte());
  std::uint16_t id = first_request;
  for (unsigned i = 0; i < most_messages && !from.empty(); ++i) server.message_of(from, id++);
  shutdown(both.hostile.get(), SHUT_WR);
  page memory;
  client c;
  c.serve(&memory);
  c.raw() = std::move(both.honest);
  for (const std::uint8_t what : asked)
    if (ask(c, what) < 0) __builtin_trap();
  c.serve_now();
}

}  // namespace freehca::fuzz
