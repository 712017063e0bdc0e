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

/// Who is told of events. Any function may be null. Called from event_context::poll() of the queue
/// that the event came in, so on its owner's thread; numbers are as the device wrote them: the
/// receiver checks them.
struct event_sinks {
  void* context = nullptr;
  /// A completion queue that was armed has something; it must be armed again.
  void (*completion)(void* context, std::uint32_t cqn) noexcept = nullptr;
  void (*cq_error)(void* context, std::uint32_t cqn,
                   layouts::cq_error_syndrome syndrome) noexcept = nullptr;
  /// path_migrated, communication_established, sq_drained, srq_last_wqe, wq_*,
  /// path_migration_failed
  void (*qp)(void* context, std::uint32_t qpn, layouts::event_type type) noexcept = nullptr;
  /// srq_limit, srq_catastrophic_error
  void (*srq)(void* context, std::uint32_t srqn, layouts::event_type type) noexcept = nullptr;
  /// The device has read the port's attributes anew: state, LID, keys or GIDs changed. Ports count
  /// from 1.
  void (*port)(void* context, unsigned port) noexcept = nullptr;
  /// The device stopped working (catastrophic error, removal): everything under way ends with this
  /// status.
  void (*device_failed)(void* context, status why) noexcept = nullptr;
  /// The function was reset, or is kept from memory: it writes nothing any more. Nothing is
  /// forgotten yet.
  void (*was_reset)(void* context) noexcept = nullptr;
  /// After that: the channel and the context tables have forgotten the firmware's side of every
  /// object. Called before the number spaces close, so that objects can give their numbers back.
  void (*forgotten)(void* context) noexcept = nullptr;
};

/// The object that an asynchronous event names, by its number.
struct event_subject {
  enum class kind : std::uint8_t { none, queue_pair, completion_queue, shared_receive_queue };
  kind of = kind::none;
  std::uint32_t number = 0;
};
event_subject subject_of(const layouts::image<layouts::eqe>& event);

/// What an event queue has seen since it was made.
struct event_statistics {
  std::uint64_t events = 0, completions = 0, commands = 0, unknown = 0, interrupts = 0;
};

}  // namespace freehca
