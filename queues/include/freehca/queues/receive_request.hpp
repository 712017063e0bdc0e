// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/data_entry.hpp>

namespace freehca::queues {

/// A request to a receive queue: the buffer for one message. When the post returns, the caller may
/// reuse the list. The device may access the memory of its entries until the receive completes.
struct receive_request {
  std::uint64_t wr_id = 0;
  const data_entry* list = nullptr;
  unsigned entries = 0;
};

}  // namespace freehca::queues
