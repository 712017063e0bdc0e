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

struct roce_functions;

/// The properties in which the transport services of queue pairs differ.
struct queue_pair_service {
  layouts::qp_service code;
  std::size_t header_bytes;           ///< bytes of a send WQE in front of its data
  std::uint32_t most_message_bytes;   ///< 0: the limit of the device
  std::uint32_t least_wqe_bytes = 0;  ///< of the longest send WQE, whatever its data
  std::uint64_t opcodes;              ///< of the service on a device that has all of them
  queue_pair_transition to[3];        ///< to INIT, RTR and RTS
  /// The functions of the only path that queue pairs of frames take. Null: an infiniband_path or a
  /// roce_path.
  const roce_functions* path = nullptr;
};

/// A constant for each service, beside the table of attributes in queue_pair_modify.cpp.
extern const queue_pair_service queue_pair_services[3];

/// The opcodes that may be posted, as in sq_resources::opcodes: those of the service that the
/// device has too.
std::uint64_t opcodes_of(const queue_pair_service& service, const capabilities& can);
/// Returns null if the driver does not have the service.
const queue_pair_service* service_of(layouts::qp_service code);

}  // namespace freehca
