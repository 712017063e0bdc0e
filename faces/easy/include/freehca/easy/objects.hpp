// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The kinds of objects that the facade adds to those of the core. The adapter's verbs object looks
// after them as after all others. It takes them back after a late answer. A reset releases them.
#pragma once

#include <freehca/hal/clock.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/list.hpp>

#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca::easy {

class adapter;
class next_completion;
struct peer;

struct memory_object;
struct memory_attributes : memory_region_attributes {
  list<memory_object>* made = nullptr;  ///< receives the object
};

/// A region with its memory. If memory_region_attributes::memory has no pointer, the region takes
/// memory of the device's arena, and has it until the region itself is released: never while the
/// device may still use it.
struct memory_object : memory_region {
  using attributes = memory_attributes;
  using stands_in_for = memory_region;

  program_memory memory;      ///< as the program sees it
  std::uint64_t address = 0;  ///< of the first byte in data entries

  // As for connections. An operation that works on a region shows in the state of the region.
  static constexpr bool worked_on = false;
  device_object& last_made(const verbs&) { return *this; }

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);

 private:
  dma_region run_;  // of the arena; 0 bytes: the memory belongs to the program
};

/// The completion queue of a connection, and what the facade knows of the connection. It is in a
/// list of its adapter, and in another one while operations wait for completions.
struct connection_object : completion_queue, list_place<adapter>, list_place<next_completion> {
  using stands_in_for = completion_queue;

  qp_handle pair{};            ///< until it is made: the default handle
  address_attributes route{};  ///< the path without what the peer decides
  bool worked_on = false;      ///< a sequence makes, changes or closes the connection
  list<next_completion> waiting;

  /// Returns the object that is destroyed next: the queue pair, then the completion queue.
  device_object& last_made(const verbs& in);
  address_attributes path(const peer& from, const peer& to) const;
  /// Gives completions to the operations that wait. Arms the queue if some of them still wait.
  /// Returns the number of completions.
  unsigned look(verbs& in);
  /// The time at which a missing event counts as lost. It is the event of a completion that was
  /// found in the ring before the event.
  std::uint64_t event_due() const { return event_due_; }

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  void notice(verbs& in, const object_event& event);
  void strip(verbs& in);

 private:
  void take_event();
  void end_waiting(verbs& in, status why);

  bool armed_ = false;  // the device will report the next completion
  std::uint64_t event_due_ = clock::never;
};

}  // namespace freehca::easy
