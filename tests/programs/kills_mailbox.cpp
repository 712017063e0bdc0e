// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "kills_mailbox.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checks.hpp"

namespace programs {

namespace {

std::uint64_t packed(const pair_name& n) {
  return std::uint64_t{n.life} << 48 | std::uint64_t{n.lid} << 32 | n.qpn;
}

pair_name unpacked(std::uint64_t word) {
  return {static_cast<std::uint16_t>(word >> 48), static_cast<std::uint16_t>(word >> 32),
          static_cast<std::uint32_t>(word)};
}

}  // namespace

mailbox::mailbox(const char* path) {
  constexpr std::size_t bytes = sizeof(cell) * places * places;
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  require(file >= 0 && ftruncate(file, bytes) == 0, "the mailbox");
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  require(at != MAP_FAILED, "the mailbox");
  cells_ = static_cast<cell(*)[places]>(at);
  close(file);
}

void mailbox::publish(unsigned place, unsigned towards, const published& what) {
  cell& to = cells_[place][towards];
  to.bound = 0;
  to.own = packed(what.own);
  to.bound = packed(what.bound);
}

published mailbox::look(unsigned place, unsigned towards) const {
  const cell& from = cells_[place][towards];
  for (;;) {
    const std::uint64_t own = from.own, bound = from.bound;
    if (from.own == own) return {unpacked(own), unpacked(bound)};
  }
}

}  // namespace programs
