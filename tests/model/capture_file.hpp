// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// With FREEHCA_CAPTURE=FILE, all packets of port 1 of all adapters of a run of tests go to one file
// of libpcap's format, link type 247: for the test that has them decoded (check_captures.py).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace freehca::model::test {

inline bool capture_wanted() {
  return std::getenv("FREEHCA_CAPTURE") != nullptr;
}

/// Does nothing when no file is wanted.
inline void append_to_capture(std::uint64_t nanoseconds, const std::byte* bytes,
                              std::size_t count) {
  if (!capture_wanted()) return;
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  static const std::unique_ptr<std::FILE, closer> file(
      std::fopen(std::getenv("FREEHCA_CAPTURE"), "wb"));
  if (file == nullptr) std::abort();
  const auto put = [](auto... words) {
    const std::uint32_t all[] = {static_cast<std::uint32_t>(words)...};
    std::fwrite(all, sizeof all, 1, file.get());
  };
  // Magic number for nanoseconds, version 2.4, no zone, no accuracy, longest packet, link type.
  static const bool begun = (put(0xa1b23c4d, 2u | 4u << 16, 0u, 0u, 65535u, 247u), true);
  static_cast<void>(begun);
  put(nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000, count, count);
  std::fwrite(bytes, count, 1, file.get());
}

}  // namespace freehca::model::test
