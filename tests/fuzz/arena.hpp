// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory that can be brought back to what it was: how a machine is kept from one input to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace freehca::fuzz {

/// A heap of its own. While it is the current one, all that the process allocates with `new` or
/// calloc comes from it; so a machine that is made there stands there whole, however its parts are
/// built. seal() notes what there is, and restore() brings back every byte of it and forgets what
/// has been allocated since. What has been freed is not given out again before that, or before
/// `reused_from` bytes have been given out. With the address sanitizer, what is free and what lies
/// between two blocks is poisoned.
///
/// A page is saved when it is first written to after seal() (it is write-protected until then, and
/// a fault tells), and restored each time from then on, until so much was copied that it is worth
/// while to find out anew what inputs touch: a reset costs what they touch, not what the machine
/// has. One thread.
class arena {
 public:
  /// Bytes of address space; only what is touched costs memory.
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;
  static constexpr std::size_t most_at_once = 96;
  /// An input that keeps a machine busy for long gets on with half of the arena.
  static constexpr std::size_t reused_from = most_bytes / 2;

  arena();
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// The one that is allocated from; null: the process's heap. Set by `within`.
  static arena* current();
  /// The one that `block` comes from; null: none.
  static arena* of(const void* block);

  /// For as long as it lives, `new` and calloc allocate from that arena.
  class within {
   public:
    explicit within(arena& a);
    ~within();
    within(const within&) = delete;
    within& operator=(const within&) = delete;

   private:
    arena* before_;
  };

  /// Bytes that are not zero, so that nothing comes to rely on it. Traps when the arena is full.
  void* allocate(std::size_t bytes, std::size_t alignment);
  /// Zeros, from the beginning of a page on.
  void* allocate_zeroed(std::size_t bytes);
  void free(void* block);

  void seal();
  void restore();

  /// Pages that have been written to between seal() and restore(), and that each restore() copies.
  std::size_t pages_saved() const { return saved_count_; }
  std::size_t bytes() const { return top_; }

 private:
  static constexpr std::size_t page = 4096;
  friend struct fault_handler;
  // Blocks are given out again by their size in units of 16 bytes, up to 16 KiB; empty ones never.
  static constexpr std::size_t size_classes = 1025;
  static constexpr std::size_t size_class(std::size_t bytes) { return (bytes + 15) / 16; }
  std::byte* take(std::size_t bytes, std::size_t alignment);
  bool saves(const void* address);
  void protect();

  std::byte* base_;
  std::byte* saved_;                        // page i of the arena, as it was
  std::uint32_t* saved_pages_;              // which of them there are
  void** freed_;                            // since seal(), of what was there then
  std::array<void*, size_classes> free_{};  // since seal(), of what was allocated since
  std::size_t saved_count_ = 0, freed_count_ = 0;
  std::size_t copied_ = 0;                           // pages, since they were protected
  std::size_t top_ = 0, sealed_ = 0, poisoned_ = 0;  // offsets
};

}  // namespace freehca::fuzz
