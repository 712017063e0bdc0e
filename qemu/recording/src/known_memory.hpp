// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace freehca::recording {

inline constexpr std::size_t page_bytes = 4096;

/// Calls fn(page number, offset in the page, offset in the range, bytes) for each page of a range.
template <class Fn>
void by_page(std::uint64_t address, std::size_t bytes, Fn&& fn) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t offset = (address + done) % page_bytes;
    const std::size_t now = std::min(bytes - done, page_bytes - offset);
    fn((address + done) / page_bytes, offset, done, now);
    done += now;
  }
}

/// Host memory as far as the recording tells of it.
class known_memory {
 public:
  void put(std::uint64_t address, const std::byte* from, std::size_t bytes) {
    by_page(address, bytes,
            [&](std::uint64_t p, std::size_t at, std::size_t done, std::size_t now) {
              page& to = pages_[p];
              std::memcpy(to.bytes.data() + at, from + done, now);
              for (std::size_t i = at; i < at + now; ++i) to.known.set(i);
            });
  }
  /// The same, but for the bytes that are marked.
  void put_unmarked(std::uint64_t address, const std::byte* from, std::size_t bytes) {
    by_page(address, bytes,
            [&](std::uint64_t p, std::size_t at, std::size_t done, std::size_t now) {
              const auto m = marks_.find(p);
              page& to = pages_[p];
              for (std::size_t i = 0; i < now; ++i) {
                if (m != marks_.end() && m->second.test(at + i)) continue;
                to.bytes[at + i] = from[done + i];
                to.known.set(at + i);
              }
            });
  }
  void mark(std::uint64_t address, std::size_t bytes) {
    by_page(address, bytes, [&](std::uint64_t p, std::size_t at, std::size_t, std::size_t now) {
      for (std::size_t i = at; i < at + now; ++i) marks_[p].set(i);
    });
  }
  void clear_marks() { marks_.clear(); }
  /// Copies what is known and calls unknown(address, pointer) for each byte that is not.
  template <class Unknown>
  void get(std::uint64_t address, std::byte* to, std::size_t bytes, Unknown&& unknown) {
    by_page(address, bytes,
            [&](std::uint64_t p, std::size_t at, std::size_t done, std::size_t now) {
              page& from = pages_[p];
              for (std::size_t i = 0; i < now; ++i) {
                if (from.known.test(at + i)) to[done + i] = from.bytes[at + i];
                else unknown(address + done + i, to + done + i);
              }
            });
  }

 private:
  struct page {
    std::array<std::byte, page_bytes> bytes{};
    std::bitset<page_bytes> known;
  };
  std::unordered_map<std::uint64_t, page> pages_;
  std::unordered_map<std::uint64_t, std::bitset<page_bytes>> marks_;
};

}  // namespace freehca::recording
