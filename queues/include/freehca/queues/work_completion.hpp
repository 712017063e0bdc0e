// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::queues {

/// How a work request ended. The device's own code is in work_completion::syndrome.
enum class completion_status : std::uint8_t {
  ok,
  local_length,
  local_qp_operation,
  local_protection,
  flushed,  ///< not executed: the queue pair was in the error state
  window_bind,
  bad_response,
  local_access,
  remote_invalid_request,
  remote_access,
  remote_operation,
  transport_retry_exceeded,
  rnr_retry_exceeded,
  remote_aborted,
  unknown_syndrome,  ///< an error that no source names
  implausible,   ///< the device reported more bytes than the request has room for; byte_count is 0
  device_reset,  ///< the device was reset before it told: carried out, or in part, or not at all
};

/// English, without a full stop.
const char* name_of(completion_status s);

/// What completed. Of a failed send the driver's own record tells, of a failed receive nothing but
/// `receive`.
enum class work_opcode : std::uint8_t {
  send,
  rdma_write,
  rdma_read,
  compare_and_swap,
  fetch_and_add,
  nop,
  receive,
  /// Byte_count counts what was written, elsewhere than into the receive's buffer.
  receive_rdma_with_immediate,
};

/// An entry of a completion queue in plain numbers.
struct work_completion {
  std::uint64_t wr_id = 0;
  std::uint32_t qpn = 0;         ///< of the queue pair that the request was posted to
  std::uint32_t byte_count = 0;  ///< of reads, atomics and receives
  std::uint32_t immediate = 0;   ///< with has_immediate
  std::uint32_t source_qpn = 0;  ///< receives
  std::uint16_t slid = 0;        ///< receives
  completion_status status = completion_status::ok;
  work_opcode opcode = work_opcode::send;
  std::uint8_t syndrome = 0;         ///< raw; 0 unless the device reported an error
  std::uint8_t vendor_syndrome = 0;  ///< raw
  std::uint8_t sl = 0;               ///< receives
  bool has_immediate = false;

  bool ok() const { return status == completion_status::ok; }
};
static_assert(sizeof(work_completion) == 32);

}  // namespace freehca::queues
