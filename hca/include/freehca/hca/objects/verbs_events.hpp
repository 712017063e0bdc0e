// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/status.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/queues/work_completion.hpp>

#include <freehca/hca/objects/handle.hpp>

namespace freehca {

/// The callbacks for events of objects. Each of them may be null. Only the control owner receives
/// port events. The callbacks are called inside poll() of the queue in which the event arrived.
/// request_ended is called inside verbs::poll() or device::close().
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
  /// Called only for an event owner: the device was reset and is up again. If `outcome` is ok,
  /// objects can be created again. Otherwise the device had no UAR page for this owner. The owner
  /// then waits until the device comes up the next time.
  void (*up_again)(void* context, status outcome) noexcept = nullptr;
  /// Called once for each work request whose completion was not polled before the device was reset
  /// or lost its access to memory. The buffers that the request names belong to the caller again.
  /// During these calls the handles are still valid, posts are refused, and operations end by the
  /// reset.
  ///
  /// First come the completions that are in the completion queues, as poll() would have returned
  /// them, with `why` ok. Then come, for each queue pair, the sends and then the receives that are
  /// left, in the order of their posting and whether signaled or not, with
  /// completion_status::device_reset. Their `why` is the status that device_failed received, or
  /// transport_error::reset if the device had not failed. A receive of a shared receive queue that
  /// no queue pair took comes with the default handle, with the cookie of the shared receive queue,
  /// and without a work_completion::queue. The completions of a counting completion queue are
  /// counted instead.
  void (*request_ended)(void* context, qp_handle queue, void* cookie,
                        const queues::work_completion& completion, status why) noexcept = nullptr;
};

}  // namespace freehca
