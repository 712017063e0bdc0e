// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca {

class number_directory;
class verbs;

/// The callbacks for events. Each may be null. event_context::poll() of the event queue calls them,
/// on the thread of the queue's owner. Numbers are as the device wrote them. The receiver must
/// check them.
struct event_sinks {
  void* context = nullptr;
  /// The completion queues of `objects`. They need no callback: the event queue finds the
  /// completion queue of an event and calls notice() of its kind. If null, the events are dropped.
  const number_directory* completion_queues = nullptr;
  verbs* objects = nullptr;
  /// path_migrated, communication_established, sq_drained, srq_last_wqe, wq_*,
  /// path_migration_failed
  void (*qp)(void* context, std::uint32_t qpn, layouts::event_type type) noexcept = nullptr;
  /// srq_limit, srq_catastrophic_error
  void (*srq)(void* context, std::uint32_t srqn, layouts::event_type type) noexcept = nullptr;
  /// The driver has read the attributes of the port again, after a change of state, LID, keys or
  /// GIDs. Ports count from 1.
  void (*port)(void* context, unsigned port) noexcept = nullptr;
  /// The device stopped working (catastrophic error, removal). Everything under way ends with this
  /// status.
  void (*device_failed)(void* context, status why) noexcept = nullptr;
  /// The function was reset, or can no longer access memory. It writes nothing any more. The driver
  /// has not yet forgotten any object.
  void (*was_reset)(void* context) noexcept = nullptr;
  /// Called after was_reset, when the channel and the context tables have forgotten the firmware's
  /// side of every object. The number spaces are still open, so that objects can free their
  /// numbers.
  void (*forgotten)(void* context) noexcept = nullptr;
};

/// The object that an asynchronous event names, by its number.
struct event_subject {
  enum class kind : std::uint8_t { none, queue_pair, completion_queue, shared_receive_queue };
  kind of = kind::none;
  std::uint32_t number = 0;
};
event_subject subject_of(const layouts::image<layouts::eqe>& event);

/// Counters of an event queue since it was created.
struct event_statistics {
  std::uint64_t events = 0, completions = 0, commands = 0, unknown = 0, interrupts = 0;
};

}  // namespace freehca
