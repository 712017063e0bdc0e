// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace freehca::process_memory {

/// What this process may do with all pages of a range of its memory.
struct memory_rights {
  bool read = false;        ///< false also if a page is not there
  bool write = false;       ///< false also if a page is not there
  std::uint64_t inode = 0;  ///< of the file that all pages are of; 0: of none, or of several

  bool allow(bool write_wanted) const { return write_wanted ? write : read; }
};

/// Reads /proc/self/maps. No right if that cannot be read. From any thread.
memory_rights rights_to(const void* first, std::size_t bytes);

/// Why a device may not use a range, for messages: ": a page of it is not there" or the like. Empty
/// if the rights suffice.
std::string missing_rights(const void* first, std::size_t bytes, bool write);

}  // namespace freehca::process_memory
