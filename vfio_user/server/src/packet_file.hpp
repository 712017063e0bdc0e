// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::device_server {

/// A file that grows by whole pieces: one that finds no room as a whole is taken back.
class growing_file {
 public:
  /// 0 or an errno.
  int create(const std::string& path);
  bool open() const { return file_.open(); }
  bool empty() const { return end_ == 0; }
  void close() { file_.close(); }
  bool append(std::span<iovec> parts);

 private:
  vfio_user::descriptor file_;
  off_t end_ = 0;
};

/// Packets, or frames, in libpcap's format with nanoseconds.
class packet_file {
 public:
  int create(const std::string& path, bool ethernet);
  bool open() const { return file_.open(); }
  bool append(std::uint64_t now_ns, const void* packet, std::size_t bytes);

 private:
  growing_file file_;
};

}  // namespace freehca::device_server
