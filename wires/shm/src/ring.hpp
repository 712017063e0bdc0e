// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The two sides of a ring. A packet is a record: a unit with its length, then its bytes up to the
// next unit. A record does not wrap: a unit with `wrap_mark` fills the ring up to its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ring_word.hpp"

namespace freehca::wires::shm {

inline constexpr std::uint32_t wrap_mark = ~std::uint32_t{0};
inline constexpr std::uint32_t longest_record = 1 + fabric_port::longest_packet / unit_bytes;

constexpr std::uint32_t record_units(std::size_t bytes) {
  return static_cast<std::uint32_t>(1 + (bytes + unit_bytes - 1) / unit_bytes);
}

/// The producer's side: its own copy of the head, which no peer can change. One thread puts;
/// another thread may call has_room().
class ring_producer {
 public:
  /// Begins the ring again unless it already is of these lives.
  void follow(ring_control& control, ring_word lives);
  bool is_of(ring_word lives) const { return valid() && head().same_lives(lives); }
  /// Whether a packet fits now. Counts into `resets` and begins the ring again if the consumer's
  /// word makes no sense.
  bool fits(ring_control& control, std::size_t bytes, std::uint64_t& resets);
  /// Publishes the head again if a peer has overwritten it. The consumer would else take nothing
  /// out of a ring that is full. True: it was overwritten.
  bool repair_head(ring_control& control);
  /// Bytes of the ring, from its first, that put() of such a packet needs to have.
  std::size_t reach(std::size_t bytes) const;
  /// Puts a packet that fits.
  void put(ring_control& control, std::byte* data, const std::byte* from, std::size_t bytes);
  /// Whether at least half of the ring is free.
  bool has_room(const ring_control& control) const;

  std::size_t bytes_lent = 0;  ///< from the ring's first, that the kernel has promised

 private:
  ring_word head() const { return {head_.load(std::memory_order_relaxed)}; }
  bool valid() const { return valid_.load(std::memory_order_relaxed); }
  std::uint32_t used(const ring_control& control) const;
  bool finds_room(ring_control& control, std::uint32_t needed, std::size_t bytes,
                  std::uint64_t& resets);

  /// Units that are free at least: the consumer frees more, and takes none back. The consumer's
  /// word is read only when they do not suffice, since each reading takes the word's line away from
  /// the consumer's processor.
  std::uint32_t free_ = 0;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<bool> valid_{false};
};

/// The consumer's side. One thread takes; any thread may call has_bytes().
class ring_consumer {
 public:
  enum class result { nothing, packet, reset };

  /// Copies the next packet to `to`, which has room for the longest. `data` has the ring's bytes.
  /// `life` and `producer_life` are those of the two slots. reset: the ring made no sense and was
  /// emptied.
  result take(ring_control& control, const std::byte* data, std::uint32_t life,
              const std::atomic<std::uint32_t>& producer_life, std::byte* to, std::size_t& bytes);
  bool has_bytes(const ring_control& control, std::uint32_t life,
                 std::uint32_t producer_life) const;
  /// Begins to load the first bytes of the next packet, whether there is one or not.
  void prefetch(const std::byte* data) const;
  /// Publishes the position up to which packets were taken. True: the producer is to be woken.
  bool give_room(ring_control& control);

 private:
  ring_word tail() const { return {tail_.load(std::memory_order_relaxed)}; }
  void set_tail(ring_word word) { tail_.store(word.value, std::memory_order_relaxed); }
  result take_record(const std::byte* data, std::uint32_t used, std::byte* to, std::size_t& bytes);

  std::atomic<std::uint64_t> tail_{0};
};

}  // namespace freehca::wires::shm
