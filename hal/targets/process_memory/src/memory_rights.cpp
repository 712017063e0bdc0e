// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/process_memory/memory_rights.hpp>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace freehca::process_memory {

memory_rights rights_to(const void* first, std::size_t bytes) {
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, closer> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return {};
  auto at = reinterpret_cast<std::uintptr_t>(first);
  const std::uintptr_t end = at + bytes;
  if (end < at) return {};
  memory_rights all{true, true, 0};
  bool is_first = true;
  // The lines are in the order of their addresses. A long name of a file is read as further lines,
  // which do not begin with two addresses.
  char line[256];
  while (at < end && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    std::uintptr_t begin = 0, behind = 0;
    char rights[5] = {};
    std::uint64_t inode = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64, &begin, &behind,
                    rights, &inode) != 4)
      continue;
    if (behind <= at) continue;
    if (begin > at) break;
    all.read = all.read && rights[0] == 'r';
    all.write = all.write && rights[1] == 'w';
    all.inode = is_first || all.inode == inode ? inode : 0;
    is_first = false;
    at = behind;
  }
  return at < end ? memory_rights{} : all;
}

std::string missing_rights(const void* first, std::size_t bytes, bool write) {
  const memory_rights has = rights_to(first, bytes);
  if (has.allow(write)) return {};
  if (has.read)
    return ": the process may not write a page of it. Register it without local_write, or make it "
           "writable.";
  return ": a page of it is not there, or the process may not read it";
}

}  // namespace freehca::process_memory
