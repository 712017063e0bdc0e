// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/vfio_user/descriptor.hpp>

#include "file_mappings.hpp"

namespace freehca::testing {

/// A file on huge pages of 2 MiB, as a client shares it. If the machine has none to give
/// (/proc/sys/vm/nr_hugepages), the file is a common one, and the calls follow the rules of huge
/// pages: fstat() reports 2 MiB as st_blksize, mmap() refuses an offset that is no multiple of it
/// and rounds the length up, munmap() refuses an address or a length that is none. Which of the two
/// runs is printed.
class huge_file {
 public:
  static constexpr std::uint64_t page = 2u << 20;

  explicit huge_file(std::uint64_t pages);
  void grow(std::uint64_t pages);

  int get() const { return file_.get(); }
  std::uint64_t bytes() const { return bytes_; }
  /// The calls with which the file is mapped.
  device_server::mapping_calls calls() const;
  /// Mappings of the file in this process.
  std::size_t mappings() const;

 private:
  vfio_user::descriptor file_;
  std::uint64_t bytes_ = 0;
  bool real_ = false;
};

/// The file's bytes from a place on, in a mapping of the test's own, until the next look_away().
std::byte* look_at(int file, std::uint64_t offset);
void look_away();

}  // namespace freehca::testing
