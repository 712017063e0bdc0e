// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ring.hpp"

#include <algorithm>
#include <cstring>

namespace freehca::wires::shm {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

namespace {

constexpr std::uint32_t unit_of(ring_word word) {
  return word.position() % ring_units;
}

// Units that a packet takes from this position on: its record, and the ring's end if the record
// does not fit in front of it.
constexpr std::uint32_t units_from(std::uint32_t unit, std::uint32_t record) {
  return unit + record > ring_units ? ring_units - unit + record : record;
}

// The peer may change the length at any time, so it is read exactly once.
std::uint32_t length_at(const std::byte* data, std::uint32_t unit) {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(data + unit * unit_bytes),
                         __ATOMIC_RELAXED);
}
void set_length(std::byte* data, std::uint32_t unit, std::uint32_t length) {
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(data + unit * unit_bytes), length,
                   __ATOMIC_RELAXED);
}

}  // namespace

void ring_producer::follow(ring_control& control, ring_word lives) {
  if (is_of(lives)) return;
  free_ = 0;
  head_.store(lives.value, memory_order_relaxed);
  valid_.store(true, memory_order_relaxed);
  control.head.store(lives.value, memory_order_release);
}

std::uint32_t ring_producer::used(const ring_control& control) const {
  const ring_word read{control.tail.load(memory_order_acquire)};
  // A consumer that has taken nothing yet has not written its word.
  const std::uint32_t from = read.same_ring(head()) ? read.position() : 0;
  return units_between(from, head().position());
}

bool ring_producer::fits(ring_control& control, std::size_t bytes, std::uint64_t& resets) {
  const std::uint32_t needed = units_from(unit_of(head()), record_units(bytes));
  return free_ >= needed || finds_room(control, needed, bytes, resets);
}

// Reads the consumer's word.
bool ring_producer::finds_room(ring_control& control, std::uint32_t needed, std::size_t bytes,
                               std::uint64_t& resets) {
  std::uint32_t taken = used(control);
  if (taken > ring_units) {
    ++resets;
    head_.store(head().begun_again().value, memory_order_relaxed);
    control.head.store(head().value, memory_order_release);
    free_ = 0;
    taken = used(control);
    if (taken > ring_units) return false;
    needed = units_from(unit_of(head()), record_units(bytes));
  }
  free_ = ring_units - taken;
  return free_ >= needed;
}

bool ring_producer::repair_head(ring_control& control) {
  if (control.head.load(memory_order_relaxed) == head().value) return false;
  control.head.store(head().value, memory_order_release);
  return true;
}

std::size_t ring_producer::reach(std::size_t bytes) const {
  const std::uint32_t end = unit_of(head()) + record_units(bytes);
  return (end > ring_units ? ring_units : end) * unit_bytes;
}

void ring_producer::put(ring_control& control, std::byte* data, const std::byte* from,
                        std::size_t bytes) {
  const std::uint32_t record = record_units(bytes);
  std::uint32_t unit = unit_of(head());
  const std::uint32_t units = units_from(unit, record);
  if (units != record) {
    set_length(data, unit, wrap_mark);
    unit = 0;
  }
  set_length(data, unit, static_cast<std::uint32_t>(bytes));
  std::memcpy(data + (unit + 1) * unit_bytes, from, bytes);
  free_ -= std::min(free_, units);
  head_.store(head().advanced(units).value, memory_order_relaxed);
  control.head.store(head().value, memory_order_release);
}

bool ring_producer::has_room(const ring_control& control) const {
  const std::uint32_t taken = used(control);
  return taken <= ring_units / 2 || taken > ring_units;
}

bool ring_consumer::has_bytes(const ring_control& control, std::uint32_t life,
                              std::uint32_t producer_life) const {
  const ring_word head{control.head.load(memory_order_acquire)};
  if (!head.same_lives(ring_word::of(producer_life, life))) return false;
  const std::uint32_t from = head.same_ring(tail()) ? tail().position() : 0;
  return head.position() != from;
}

void ring_consumer::prefetch(const std::byte* data) const {
  const std::uint32_t next = unit_of(tail());
  __builtin_prefetch(data + next * unit_bytes);
  __builtin_prefetch(data + (next + line_bytes / unit_bytes) % ring_units * unit_bytes);
}

ring_consumer::result ring_consumer::take(ring_control& control, const std::byte* data,
                                          std::uint32_t life,
                                          const std::atomic<std::uint32_t>& producer_life,
                                          std::byte* to, std::size_t& bytes) {
  const ring_word head{control.head.load(memory_order_acquire)};
  if (!head.same_lives(ring_word::of(producer_life.load(memory_order_acquire), life)))
    return result::nothing;
  if (!head.same_ring(tail())) set_tail(head.at(0));
  const std::uint32_t used = units_between(tail().position(), head.position());
  if (used == 0) return result::nothing;
  const ring_word before = tail();
  const result got = used > ring_units ? result::reset : take_record(data, used, to, bytes);
  // The ring may have been begun again during the copy. The copy is then of two packets.
  std::atomic_thread_fence(memory_order_acquire);
  const ring_word now{control.head.load(memory_order_relaxed)};
  if (!now.same_ring(head) ||
      !now.same_lives(ring_word::of(producer_life.load(memory_order_relaxed), life))) {
    set_tail(before);
    return result::nothing;
  }
  if (got == result::reset) set_tail(head);
  return got;
}

ring_consumer::result ring_consumer::take_record(const std::byte* data, std::uint32_t used,
                                                 std::byte* to, std::size_t& bytes) {
  ring_word from = tail();
  std::uint32_t length = length_at(data, unit_of(from));
  if (length == wrap_mark) {
    const std::uint32_t rest = ring_units - unit_of(from);
    if (rest >= used) return result::reset;
    used -= rest;
    from = from.advanced(rest);
    length = length_at(data, 0);
  }
  if (length < fabric_port::shortest_packet || length > fabric_port::longest_packet)
    return result::reset;
  const std::uint32_t record = record_units(length);
  if (record > used || unit_of(from) + record > ring_units) return result::reset;
  std::memcpy(to, data + (unit_of(from) + 1) * unit_bytes, length);
  bytes = length;
  set_tail(from.advanced(record));
  return result::packet;
}

bool ring_consumer::give_room(ring_control& control) {
  control.tail.store(tail().value, memory_order_release);
  // Behind the store: a producer that finds the ring full sets wants_room first, and then reads the
  // tail once more.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (control.wants_room.load(memory_order_relaxed) == 0) return false;
  const ring_word head{control.head.load(memory_order_relaxed)};
  if (head.same_ring(tail()) && units_between(tail().position(), head.position()) > ring_units / 2)
    return false;
  control.wants_room.store(0, memory_order_relaxed);
  return true;
}

}  // namespace freehca::wires::shm
