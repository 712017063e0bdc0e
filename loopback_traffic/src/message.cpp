// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/loopback_traffic/message.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace freehca::loopback_traffic {
namespace {

constexpr std::size_t chunk = 4096;
using buffer = std::array<std::byte, chunk>;

// Eight bytes at a time: different for each message and each place, and cheap, as a megabyte of it
// is made and compared for each large message. The constants are odd, so that no two numbers or
// places share a word.
void make_payload(std::uint64_t number, std::size_t from, std::size_t bytes, std::byte* to) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = (number + 1) * 0x9e3779b97f4a7c15u + (from + i) * 0xd1342543de82ef95u;
    word ^= word >> 29;
    std::memcpy(to + i, &word, std::min(sizeof word, bytes - i));
  }
}

std::array<std::byte, message::guard> make_guard(std::uint64_t number, bool behind) {
  std::array<std::byte, message::guard> g;
  for (std::size_t i = 0; i < g.size(); ++i)
    g[i] = static_cast<std::byte>(0xa5 ^ (number * 31 + i * 7 + (behind ? 0x40 : 0)));
  return g;
}

}  // namespace

void message::write(scattered_memory& to) const {
  buffer b;
  for (std::size_t done = 0; done < bytes; done += chunk) {
    const std::size_t piece = std::min(chunk, bytes - done);
    make_payload(number, done, piece, b.data());
    to.store(offset + done, b.data(), piece);
  }
}

void message::write_guards(scattered_memory& to) const {
  to.store(offset - guard, make_guard(number, false).data(), guard);
  to.store(offset + bytes, make_guard(number, true).data(), guard);
}

std::string message::check(const scattered_memory& in) const {
  buffer wanted, there;
  for (std::size_t done = 0; done < bytes; done += chunk) {
    const std::size_t piece = std::min(chunk, bytes - done);
    make_payload(number, done, piece, wanted.data());
    in.load(offset + done, there.data(), piece);
    if (std::memcmp(wanted.data(), there.data(), piece) == 0) continue;
    std::size_t i = 0;
    while (wanted[i] == there[i]) ++i;
    return fmt::format("byte {} of {} is {:#04x}, not {:#04x}", done + i, bytes,
                       static_cast<unsigned>(there[i]), static_cast<unsigned>(wanted[i]));
  }
  std::array<std::byte, guard> g;
  in.load(offset - guard, g.data(), guard);
  if (g != make_guard(number, false)) return "the bytes before the message were overwritten";
  in.load(offset + bytes, g.data(), guard);
  if (g != make_guard(number, true)) return "the bytes behind the message were overwritten";
  return {};
}

}  // namespace freehca::loopback_traffic
