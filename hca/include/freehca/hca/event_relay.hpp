// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <freehca/hal/atomics.hpp>
#include <freehca/hal/power_of_two.hpp>
#include <freehca/hal/storage.hpp>
#include <freehca/layouts/eqe.hpp>

namespace freehca {

/// A queue of asynchronous events for the owner of the objects that the events name. The device
/// writes all asynchronous events into one event queue, which the control owner polls. One thread
/// puts, one thread takes.
template <class Atomics, class Entry, std::uint32_t Places>
class basic_event_relay {
 public:
  using entry = Entry;
  static constexpr std::uint32_t places = Places;
  static constexpr std::size_t storage_bytes() { return places * sizeof(entry); }

  /// `storage` is aligned to 16.
  void open(std::byte* storage) {
    entries_ = storage_for<entry>(storage);
    for (std::uint32_t i = 0; i < places; ++i) new (&entries_[i]) entry;
    put_.store(0, relaxed);
    taken_.store(0, relaxed);
    dropped_.store(0, relaxed);
  }
  /// Appends an event. If all entries are full because the owner has not polled for long, the event
  /// is counted as dropped.
  void put(const entry& event) noexcept {
    const std::uint32_t at = put_.load(relaxed);
    if (at - taken_.load(acquire) == places) return dropped_.store(dropped() + 1, relaxed);
    entries_[at % places] = event;
    put_.store(at + 1, release);
  }
  /// Takes the oldest event. Returns false if there is none.
  bool take(entry& event) noexcept {
    const std::uint32_t at = taken_.load(relaxed);
    if (at == put_.load(acquire)) return false;
    event = entries_[at % places];
    taken_.store(at + 1, release);
    return true;
  }
  bool empty() const noexcept { return taken_.load(relaxed) == put_.load(relaxed); }
  std::uint64_t dropped() const noexcept { return dropped_.load(relaxed); }

 private:
  using enum std::memory_order;
  static_assert(is_power_of_two(places));
  entry* entries_ = nullptr;
  typename Atomics::template atomic<std::uint64_t> dropped_{0};  // written by the thread that puts
  alignas(64) typename Atomics::template atomic<std::uint32_t> put_{0};
  alignas(64) typename Atomics::template atomic<std::uint32_t> taken_{0};
};
using event_relay = basic_event_relay<atomics, layouts::image<layouts::eqe>, 256>;

}  // namespace freehca
