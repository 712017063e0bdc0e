// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/headers.hpp>

#include "basis/counters.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Counts the packets of reliable connections by what they carry, so that a driver's own count of
/// messages can be compared: a message of n bytes is ceil(n / MTU) packets of its kind, at least
/// one; retries count anew.
class packet_census {
 public:
  explicit packet_census(counter_registry& registry) {
    registry.add("rc_send_packets", sends_);
    registry.add("rc_write_packets", writes_);
    registry.add("rc_read_requests", read_requests_);
    registry.add("rc_read_responses", read_responses_);
    registry.add("rc_acknowledges", acknowledges_);
  }

  void count(layouts::bth_opcode opcode) {
    using layouts::bth_operation;
    if (layouts::transport_of(opcode) != layouts::bth_transport::rc) return;
    switch (layouts::operation_of(opcode)) {
      case bth_operation::send_first:
      case bth_operation::send_middle:
      case bth_operation::send_last:
      case bth_operation::send_last_imm:
      case bth_operation::send_only:
      case bth_operation::send_only_imm:
      case bth_operation::send_last_invalidate:
      case bth_operation::send_only_invalidate:
        ++sends_;
        break;
      case bth_operation::rdma_write_first:
      case bth_operation::rdma_write_middle:
      case bth_operation::rdma_write_last:
      case bth_operation::rdma_write_last_imm:
      case bth_operation::rdma_write_only:
      case bth_operation::rdma_write_only_imm:
        ++writes_;
        break;
      case bth_operation::rdma_read_request:
        ++read_requests_;
        break;
      case bth_operation::rdma_read_response_first:
      case bth_operation::rdma_read_response_middle:
      case bth_operation::rdma_read_response_last:
      case bth_operation::rdma_read_response_only:
        ++read_responses_;
        break;
      case bth_operation::acknowledge:
        ++acknowledges_;
        break;
      default:
        break;
    }
  }

 private:
  std::uint64_t sends_ = 0, writes_ = 0, read_requests_ = 0, read_responses_ = 0, acknowledges_ = 0;

 public:
  using saved = saving::fields<&packet_census::sends_, &packet_census::writes_,
                               &packet_census::read_requests_, &packet_census::read_responses_,
                               &packet_census::acknowledges_>;
};

}  // namespace freehca::model
