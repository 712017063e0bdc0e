// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/capabilities.hpp>

namespace freehca {

/// A transition to INIT, RTR or RTS. It writes the attributes of `count` rows of the table in
/// queue_pair_modify.cpp, from row `first` on.
struct queue_pair_transition {
  std::uint32_t first, count;
  std::uint32_t optional_fields;  ///< qp_mailbox::opt_param_mask
};

/// The properties in which the transport services of queue pairs differ. queue_pair_modify.cpp has
/// a constant for each service.
struct queue_pair_service {
  layouts::qp_service code;
  std::size_t header_bytes;          ///< bytes of a send WQE in front of its data
  std::uint32_t most_message_bytes;  ///< 0: the limit of the device
  /// The opcodes that may be posted, as in sq_resources::opcodes.
  std::uint64_t (*opcodes)(const capabilities& can);
  queue_pair_transition to[3];  ///< to INIT, RTR and RTS
};

/// Returns null if the driver does not have the service.
const queue_pair_service* service_of(layouts::qp_service code);

}  // namespace freehca
