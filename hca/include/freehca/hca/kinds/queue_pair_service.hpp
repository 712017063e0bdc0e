// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/capabilities.hpp>

namespace freehca {

struct connection_attributes;

/// What differs between the transport services of queue pairs. One constant for each, in a file of
/// its own.
struct queue_pair_service {
  layouts::qp_service code;
  std::size_t header_bytes;          ///< of a send WQE, in front of its data
  std::uint32_t most_message_bytes;  ///< 0: what the device has
  /// What may be posted: sq_resources::opcodes.
  std::uint64_t (*opcodes)(const capabilities& can);
  /// Are the attributes right that a transition to INIT, RTR or RTS takes?
  bool (*check)(const connection_attributes& a, layouts::qp_state to, const capabilities& can);
  /// Writes them into the context. Returns qp_mailbox::opt_param_mask.
  std::uint32_t (*fill)(layouts::image<layouts::qpc>& context, const connection_attributes& a,
                        layouts::qp_state to, const capabilities& can);
};

/// Null: the driver does not have it.
const queue_pair_service* service_of(layouts::qp_service code);

}  // namespace freehca
