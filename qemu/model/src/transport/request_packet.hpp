// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "link/transport_packet.hpp"

namespace freehca::model {

/// A request packet, classified by its operation.
struct request_packet {
  transport_packet view;
  layouts::bth_operation operation;
  bool first = false, last = false;  ///< of its message
  bool send = false, write = false, immediate = false, invalidate = false;
  std::uint32_t argument = 0;  ///< immediate, or the R_Key to invalidate

  static request_packet of(const transport_packet& v, layouts::bth_operation operation);
};

}  // namespace freehca::model
