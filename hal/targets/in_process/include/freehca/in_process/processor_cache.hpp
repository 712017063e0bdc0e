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

/// A data cache that the adapter does not see, in its worst form. A store of the driver stays in
/// the cache until the driver cleans the line. A write of the adapter stays in memory until the
/// driver invalidates the line. The host's memory has the driver's view. This object keeps the
/// lines in which the adapter's view differs.
///
/// It sees the accesses through dma.hpp. Other stores are in memory at once. A process has one
/// processor_cache at a time, and one thread uses it.
class processor_cache {
 public:
  static constexpr std::size_t line_bytes = 64;

  /// A call of cache::clean() or cache::invalidate() in the source.
  struct site {
    std::string file;
    unsigned line = 0;
    // clang-tidy 14 mistakes the zero of the compiler's comparison for a pointer.
    friend auto operator<=>(const site&, const site&) = default;  // NOLINT(modernize-use-nullptr)
  };

  /// Throws std::logic_error if the process has one already.
  processor_cache();
  ~processor_cache();
  processor_cache(const processor_cache&) = delete;
  processor_cache& operator=(const processor_cache&) = delete;

  /// From now on, calls from the site `without` have no effect. There is one such site at a time.
  void leave_out(const site& without) { left_out_ = without; }
  /// The sites from which clean() and invalidate() were called.
  const std::set<site>& passed() const { return passed_; }
  /// The errors of the driver and the adapter, in words; the first 100.
  const std::vector<std::string>& findings() const { return findings_; }
  /// Called with each error at once, also after the first 100.
  std::function<void(const std::string& finding)> on_finding;
  /// Called before each clean() that has an effect. A test can let the adapter work here.
  std::function<void()> before_clean;
  /// Called after each store, and after each clean() that has an effect.
  std::function<void()> on_step;

  // Called for the driver, by the accessors.
  void store(std::byte* to, const std::byte* from, std::size_t bytes);
  void load(std::byte* to, const std::byte* from, std::size_t bytes);
  void clean(const std::byte* at, std::size_t bytes, const site& from);
  void invalidate(const std::byte* at, std::size_t bytes, const site& from);
  /// Called before a register write, which starts work of the adapter. Each line that has a store
  /// in the cache alone is an error.
  void on_register_write();

  // Called for the adapter. `at` is the driver's pointer to the memory.
  void read(void* to, const std::byte* at, std::size_t bytes) const;
  /// Like read(), after a write-back of the given lines. A cache may write lines back at any time.
  void read_after(const std::set<std::uintptr_t>& written_back, void* to, const std::byte* at,
                  std::size_t bytes) const;
  /// The addresses of the lines that the cache may write back.
  std::set<std::uintptr_t> dirty() const;
  void write(std::byte* at, const void* from, std::size_t bytes);
  /// Called when the memory is no longer the adapter's. The driver then sees what the adapter
  /// wrote.
  void forget(const std::byte* at, std::size_t bytes);

  /// The object of this process, or null.
  static processor_cache* present();

 private:
  /// A line in which the two views differ. Bit i of a mask stands for byte i. `memory` has the
  /// adapter's view of the bytes that are set in a mask.
  struct line {
    std::array<std::byte, line_bytes> memory{};
    std::uint64_t stored = 0;   // by the driver, not cleaned
    std::uint64_t written = 0;  // by the adapter, not invalidated
    bool differs() const { return (stored | written) != 0; }
  };
  /// The part of the range [at, at + bytes) that is in one line.
  struct part {
    std::size_t offset, bytes;  // of the part in the range
    std::uintptr_t line;
    std::size_t within;  // offset in the line
    std::uint64_t mask;
  };
  template <class Each>
  static void each_part(const std::byte* at, std::size_t bytes, Each&& each);
  /// Calls `each` for each kept line that [at, at + bytes) touches. Removes the lines that do not
  /// differ afterwards.
  template <class Each>
  void each_line(const std::byte* at, std::size_t bytes, Each&& each);
  void find(const std::string& what, std::uintptr_t where);

  std::map<std::uintptr_t, line> lines_;  // by line address
  site left_out_;
  std::set<site> passed_;
  std::vector<std::string> findings_;
};

}  // namespace freehca::in_process
