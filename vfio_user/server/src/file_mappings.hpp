// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <tuple>

namespace freehca::device_server {

/// The system calls that map files. A test replaces them.
struct mapping_calls {
  int (*status)(int file, struct stat* about) = fstat;
  void* (*map)(void* address, std::size_t bytes, int protection, int flags, int file,
               off_t offset) = mmap;
  int (*unmap)(void* address, std::size_t bytes) = munmap;
};

/// A part of a client's file that this process has mapped, in whole pages of the file.
struct file_mapping {
  /// A file that is open only for reading has a separate mapping.
  struct key {
    dev_t device;
    ino_t inode;
    bool writeable;
    auto operator<=>(const key&) const = default;
  };
  key of{};
  std::byte* base = nullptr;
  std::uint64_t offset = 0;  ///< offset of the first byte in the file
  std::uint64_t bytes = 0;
  std::size_t ranges = 0;  ///< ranges of the client that lie in this mapping
  bool whole_file = false;
  std::list<file_mapping>::iterator self;

  bool has(std::uint64_t at, std::uint64_t count) const {
    return at >= offset && at - offset <= bytes && count <= bytes - (at - offset);
  }
};

/// Maps each file of a client once, for all ranges of the client that lie in the file. If the file
/// cannot be mapped whole, a range has a mapping of its own. A mapping ends with its last range.
///
/// No descriptor is kept. A range that needs a longer mapping comes with a descriptor of the file,
/// and as long as a file is mapped no other file has its inode number.
class file_mappings {
 public:
  /// `most`: the greatest number of mappings.
  explicit file_mappings(std::size_t most, const mapping_calls& calls = {})
      : most_(most), calls_(calls) {}
  ~file_mappings();
  file_mappings(const file_mappings&) = delete;
  file_mappings& operator=(const file_mappings&) = delete;

  /// Finds or makes the mapping for a range of a file. Returns 0 and sets `found`, or returns the
  /// errno of the failure: EINVAL if the file is too short, ENODEV if it is not a regular file,
  /// ENOSPC if there are `most` mappings, ENOMEM, or the errno of mmap().
  int take(int file, std::uint64_t offset, std::uint64_t size, bool writeable,
           file_mapping*& found);
  /// Called when a range of the mapping is removed.
  void give_back(file_mapping& from);

  /// Mappings of the system that exist: those with ranges, and those that munmap() did not remove.
  std::size_t count() const { return all_.size() + not_unmapped_.size(); }
  /// Mappings without ranges that munmap() did not remove. The next call of take() tries again.
  std::size_t not_unmapped() const { return not_unmapped_.size(); }

 private:
  struct piece;  ///< a part of a file

  int map_whole(const piece& what, int file, bool writeable, file_mapping*& found);
  int map_piece(const piece& what, int file, bool writeable, file_mapping*& found);
  int make(int file, int protection, std::uint64_t offset, std::uint64_t bytes,
           std::list<file_mapping>& made);
  void remove(std::list<file_mapping>& from, std::list<file_mapping>::iterator one);
  void unmap_what_was_left();

  const std::size_t most_;
  const mapping_calls calls_;
  std::list<file_mapping> all_, not_unmapped_;
  std::map<file_mapping::key, file_mapping*> whole_files_;
};

}  // namespace freehca::device_server
