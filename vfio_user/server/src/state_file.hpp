// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <freehca/closed_process/permissions.hpp>
#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::device_server {

/// A file that is written at the end of a closed process. The bytes are written to FILE.new, which
/// is opened at the start. It takes the place of FILE when they are on the disk.
class state_file {
 public:
  /// Returns "", or a message.
  std::string open(const std::string& path);
  bool open() const { return file_.open(); }
  /// Adds the permissions that write() and the destructor need in a closed process.
  void add_permissions(closed_process::permissions& to) const;
  /// Writes the whole contents. If it fails, the old FILE stays. Returns "", or a message.
  std::string write(std::span<const std::byte> from);
  /// Removes FILE.new, if it did not take its place.
  ~state_file();
  state_file() = default;
  state_file(const state_file&) = delete;
  state_file& operator=(const state_file&) = delete;

 private:
  std::string path_;
  vfio_user::descriptor file_, folder_;
};

/// Write and read the whole contents of an open file. They return false and errno on failure.
bool write_whole(int file, std::span<const std::byte> from);
bool read_whole(int file, std::vector<std::byte>& to);

/// Reads a whole file. Returns "", or a message.
std::string read_state_file(const std::string& path, std::vector<std::byte>& to);

}  // namespace freehca::device_server
