// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace freehca::ibverbs {

/// A capture of InfiniBand packets in libpcap's format with nanoseconds. One thread at a time.
class capture {
 public:
  capture() = default;
  ~capture();
  capture(const capture&) = delete;
  capture& operator=(const capture&) = delete;

  /// Creates the file. Returns false and the reason on failure.
  bool create(const std::string& path, std::string& why);
  /// Appends a packet. A packet that cannot be written whole is left out, and so are all later
  /// ones; standard error says so.
  void append(std::uint64_t now_ns, const std::byte* from, std::size_t bytes);

 private:
  int file_ = -1;
  std::string path_;
};

}  // namespace freehca::ibverbs
