// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/status.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/queues/work_completion.hpp>

#include <freehca/hca/objects/handle.hpp>

namespace freehca {

/// Who is told of events on objects; any may be null. What concerns ports the control owner hears.
/// Called from poll() of the queue that the event came in; request_ended from verbs::poll(), or
/// from device::close().
struct verbs_events {
  void* context = nullptr;
  void (*completion)(void* context, cq_handle queue, void* cookie) noexcept = nullptr;
  void (*cq_error)(void* context, cq_handle queue, void* cookie,
                   layouts::cq_error_syndrome why) noexcept = nullptr;
  void (*qp)(void* context, qp_handle queue, void* cookie,
             layouts::event_type type) noexcept = nullptr;
  void (*srq)(void* context, srq_handle queue, void* cookie,
              layouts::event_type type) noexcept = nullptr;
  void (*port)(void* context, unsigned port) noexcept = nullptr;
  void (*device_failed)(void* context, status why) noexcept = nullptr;
  /// Of an event_verbs: the device was reset, and is up again. ok: objects can be made again; else
  /// there was no share for this owner, which waits for the next time.
  void (*up_again)(void* context, status outcome) noexcept = nullptr;
  /// A work request whose completion nobody polled before the device was reset, or kept from
  /// memory: the buffers that it names are the caller's again. Once for each; handles are still
  /// good, posting is over, operations end by the reset. First what stands in the completion
  /// queues, as poll() would have given it, with `why` ok; then, of each queue pair, the sends and
  /// the receives that are left, in the order of their posting and whether signaled or not, with
  /// completion_status::device_reset. `why` is then what device_failed was told, or
  /// transport_error::reset for a device that worked. Receives of a shared queue that no queue pair
  /// took come with no handle, with the cookie of that queue, and with no work_completion::queue.
  /// Completions of a queue that counts are counted instead.
  void (*request_ended)(void* context, qp_handle queue, void* cookie,
                        const queues::work_completion& completion, status why) noexcept = nullptr;
};

}  // namespace freehca
