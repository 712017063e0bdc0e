// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace freehca::in_process {

/// A data cache that the adapter does not look into, as unkind as hardware may be: what the driver
/// stored stays in it until it cleans the line, and what the adapter wrote is not seen until the
/// driver invalidates it. Kept are the lines in which memory and cache differ; the host's memory is
/// what the driver sees.
///
/// Sees what goes through the accessors of dma.hpp; other stores are in memory at once. One in a
/// process at a time, on one thread.
class processor_cache {
 public:
  static constexpr std::size_t line_bytes = 64;

  /// A call of cache.hpp in the source.
  struct site {
    std::string file;
    unsigned line = 0;
    // clang-tidy 14 takes the zero that the compiler compares with for a pointer.
    friend auto operator<=>(const site&, const site&) = default;  // NOLINT(modernize-use-nullptr)
  };

  /// Throws std::logic_error when there is another one.
  processor_cache();
  ~processor_cache();
  processor_cache(const processor_cache&) = delete;
  processor_cache& operator=(const processor_cache&) = delete;

  /// Calls from there have no effect from now on.
  void leave_out(const site& without) { left_out_ = without; }
  const std::set<site>& passed() const { return passed_; }
  /// What went wrong, in words; at most 100.
  const std::vector<std::string>& findings() const { return findings_; }
  /// Called with each, at once.
  std::function<void(const std::string& finding)> on_finding;
  /// Called ahead of each clean(): what the adapter may do in between.
  std::function<void()> before_clean;
  /// Called behind each store and each clean().
  std::function<void()> on_step;

  // By the driver, through the accessors.
  void store(std::byte* to, const std::byte* from, std::size_t bytes);
  void load(std::byte* to, const std::byte* from, std::size_t bytes);
  void clean(const std::byte* at, std::size_t bytes, const site& from);
  void invalidate(const std::byte* at, std::size_t bytes, const site& from);
  /// The driver is about to tell the adapter something: nothing may be in the cache alone.
  void on_register_write();

  // By the adapter; `at` is where the driver has the same memory.
  void read(void* to, const std::byte* at, std::size_t bytes) const;
  /// The same if the cache had written back these lines, as it may at any time.
  void read_after(const std::set<std::uintptr_t>& written_back, void* to, const std::byte* at,
                  std::size_t bytes) const;
  /// The addresses of lines that may be written back.
  std::set<std::uintptr_t> dirty() const;
  void write(std::byte* at, const void* from, std::size_t bytes);
  /// The memory is no longer the adapter's.
  void forget(const std::byte* at, std::size_t bytes);

  /// The one of this process, or null.
  static processor_cache* present();

 private:
  /// One in which some bytes differ: bit i of a mask is byte i.
  struct line {
    std::array<std::byte, line_bytes> memory{};
    std::uint64_t stored = 0;   // by the driver, and not cleaned
    std::uint64_t written = 0;  // by the adapter, and not invalidated
    bool differs() const { return (stored | written) != 0; }
  };
  /// What [at, at + bytes) has of each line.
  struct part {
    std::size_t offset, bytes;  // in the range
    std::uintptr_t line;
    std::size_t within;  // the line
    std::uint64_t mask;
  };
  template <class Each>
  static void each_part(const std::byte* at, std::size_t bytes, Each&& each);
  /// Every line with differences that [at, at + bytes) touches; lines without any go afterwards.
  template <class Each>
  void each_line(const std::byte* at, std::size_t bytes, Each&& each);
  void find(const std::string& what, std::uintptr_t where);

  std::map<std::uintptr_t, line> lines_;  // by their addresses
  site left_out_;
  std::set<site> passed_;
  std::vector<std::string> findings_;
};

}  // namespace freehca::in_process
