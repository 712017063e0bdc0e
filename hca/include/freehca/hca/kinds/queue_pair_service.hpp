// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/capabilities.hpp>

namespace freehca {

struct connection_attributes;

/// The properties in which the transport services of queue pairs differ. Each service has one
/// constant, in the folder services.
struct queue_pair_service {
  layouts::qp_service code;
  std::size_t header_bytes;          ///< bytes of a send WQE in front of its data
  std::uint32_t most_message_bytes;  ///< 0: the limit of the device
  /// The opcodes that may be posted, as in sq_resources::opcodes.
  std::uint64_t (*opcodes)(const capabilities& can);
  /// True if the attributes that a transition to INIT, RTR or RTS reads are valid.
  bool (*check)(const connection_attributes& a, layouts::qp_state to, const capabilities& can);
  /// Writes the attributes into the context. Returns the value of qp_mailbox::opt_param_mask.
  std::uint32_t (*fill)(layouts::image<layouts::qpc>& context, const connection_attributes& a,
                        layouts::qp_state to, const capabilities& can);
};

/// Returns null if the driver does not have the service.
const queue_pair_service* service_of(layouts::qp_service code);

}  // namespace freehca
