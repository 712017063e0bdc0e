// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <freehca/wires/descriptor.hpp>

namespace freehca::captures {

/// A file to which whole pieces are appended. If there is no room for a whole piece, its written
/// part is removed again.
class growing_file {
 public:
  /// Creates the file. Returns 0, or an errno.
  int create(const std::string& path);
  bool open() const { return file_.open(); }
  bool empty() const { return end_ == 0; }
  void close() { file_.close(); }
  bool append(std::span<iovec> parts);

 private:
  wires::descriptor file_;
  off_t end_ = 0;
};

/// A capture of packets or frames, in libpcap's format with nanoseconds.
class packet_file {
 public:
  int create(const std::string& path, bool ethernet);
  bool open() const { return file_.open(); }
  bool append(std::uint64_t now_ns, const void* packet, std::size_t bytes);

 private:
  growing_file file_;
};

}  // namespace freehca::captures
