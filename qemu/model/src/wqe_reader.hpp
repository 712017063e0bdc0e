// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "memory_regions.hpp"
#include "queue_pair.hpp"
#include "work_request.hpp"

namespace freehca::model {

enum class fetch_result : std::uint8_t {
  fetched,
  none,   ///< the entry is the software's
  fault,  ///< the queue's memory cannot be read
};

/// Reads the send WQE at counter `counter` of the queue pair's ring and takes it apart. A WQE that hardware
/// would refuse is fetched too, with `wrong` set.
fetch_result fetch_send(memory_regions& regions, const queue_pair& qp, std::uint16_t counter,
                        send_request& to);

/// Takes the data segments of a receive WQE (`bytes` bytes at `from`) apart: up to the terminating segment.
/// False: a segment that no receive may have.
bool parse_receive(const std::byte* from, std::size_t bytes, data_list& to);

}  // namespace freehca::model
