// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "basis/adapter.hpp"
#include "basis/adapter_limits.hpp"
#include "basis/scheduler.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class queue_pairs;

/// What is written to BlueFlame registers, held against the rules for it (layouts/doorbell.hpp).
/// The request itself is taken from the send queue, where it stands too: a copy is its doorbell.
class blueflame_registers final : private work_receiver {
 public:
  /// The doorbell of a queue pair, by its number, in a UAR page.
  using doorbell = std::function<void(std::uint32_t page, std::uint32_t qpn)>;

  blueflame_registers(adapter& a, queue_pairs& pairs)
      : a_(a), pairs_(pairs), work_(a.work, "BlueFlame registers", *this) {}
  /// Who hears the doorbells, before the first write.
  void heard_by(doorbell hears) { ring_ = std::move(hears); }

  /// `bytes` bytes, in bus order, at `offset` of the page. A copy rings once: when its last block
  /// is whole, when something else is written before it is, or when nothing more comes for a while.
  void write(std::uint32_t page, std::uint32_t offset, const std::byte* from, std::size_t bytes);
  /// The queue pair is gone: who is given its register begins anew.
  void forget(std::uint32_t qpn);
  void clear() { registers_.clear(); }

  /// Bytes of a half, in every variant that has BlueFlame.
  static constexpr std::uint32_t half_bytes = 1u << (limits_connectx3_pro.log_blueflame_bytes - 1);

 private:
  struct copy {
    std::uint32_t half = 0, qpn = 0;
    std::size_t written = 0, wanted = 0;  ///< bytes; 0 wanted: not known yet
    scheduler::ticket rings;              ///< its doorbell, if it is not heard before
    bool judged = true;                   ///< nothing is left to say of it
    std::optional<std::uint32_t> last_half;
    std::array<std::byte, half_bytes> bytes{};

    using saved = saving::fields<&copy::half, &copy::qpn, &copy::written, &copy::wanted,
                                 &copy::rings, &copy::judged, &copy::last_half, &copy::bytes>;
  };
  static std::uint64_t key_of(std::uint32_t page, std::uint32_t offset) {
    return std::uint64_t{page} << 32 | offset / (2 * half_bytes);
  }
  static std::uint32_t page_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
  void begin(copy& c, std::uint32_t page, std::uint32_t half);
  void take(copy& c, std::uint64_t key, std::uint32_t at, const std::byte* from, std::size_t bytes);
  /// Rings, unless the copy has, or cannot yet: the first word names no queue pair.
  void ring(copy& c, std::uint32_t page);
  void judge(copy& c, std::uint32_t page);

  enum work : std::uint8_t { late_doorbell };  // number: the queue pair; value: the key of the copy
  void run_item(work_item& what) override;

  adapter& a_;
  queue_pairs& pairs_;
  work_source work_;
  doorbell ring_;
  std::unordered_map<std::uint64_t, copy> registers_;  ///< by key_of() page and register

 public:
  using saved = saving::fields<&blueflame_registers::registers_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"work_", "fixed at construction"}, {"ring_", "a function, which is set at construction"}};
};

}  // namespace freehca::model
