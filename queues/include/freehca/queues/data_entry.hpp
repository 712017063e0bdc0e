// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::queues {

/// One piece of registered memory: `address` as the region counts addresses, `length` in bytes, at
/// most 2^31 - 1. An entry of length 0 is allowed and names nothing.
struct data_entry {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

/// A list of entries: gathered by what sends, scattered to by what reads.
struct data_list {
  const data_entry* first = nullptr;
  std::uint32_t count = 0;
};

/// Data that are copied into the work request.
struct inline_data {
  const std::byte* from = nullptr;
  std::uint32_t length = 0;
};

}  // namespace freehca::queues
